"""Remove runs, or only the weights that no kept study needs. A folder that another process works in is left alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchrunner.errors import RequestError
from benchrunner.io.files import remove_leftovers, remove_whole
from benchrunner.io.locks import held_if_free
from benchrunner.runs.folder import RunFolder, find_run
from benchrunner.runs.inventory.costs import Sizes, sizes_of, sum_of
from benchrunner.studies.kept.kept_study import kept_studies

KEEP = ("selected", "none")
"""Values of `keep` of `prune_runs`."""


@final
@dataclass(frozen=True)
class Removal:
    """What was removed, or would be removed."""

    removed: tuple[str, ...]
    """Ids of the runs, or of the runs whose weights were removed."""
    bytes: int
    """Size of the files."""
    in_use: tuple[str, ...] = ()
    """Ids of runs that were left alone, because another process works on them."""


def studies_of(runs: Path) -> dict[str, list[str]]:
    """Map the id of each selected run to the names of the kept studies that selected it."""
    names: dict[str, list[str]] = {}
    for study in kept_studies(runs)[0]:
        for fit in study.selected:
            names.setdefault(fit, []).append(study.name)
    return names


def remove_runs(runs: Path, references: Sequence[str], *, force: bool = False, dry_run: bool = False) -> Removal:
    """Remove whole runs: records, predictions and weights.

    Runs are named by their ids, beginnings of ids, or folders. A run that a kept study selected is an error unless
    `force` is true; so is a run that another process works on. Then nothing is removed.
    """
    remove_leftovers(runs)
    found = [find_run(runs, reference) for reference in references]
    folders = list({folder.path: folder for folder in found}.values())
    selected = {} if force else studies_of(runs)
    for folder in folders:
        if names := selected.get(folder.path.name):
            raise RequestError(
                f"The run {folder.path.name} was selected by the kept study {', '.join(names)}, which could not be "
                "read again without it. Nothing was removed. To remove the run nevertheless, give --force."
            )
    busy = [folder.path.name for folder in folders if not _is_free(folder)]
    if busy:
        raise RequestError(f"Another process works on the run {', '.join(busy)}. Nothing was removed.")
    sizes = sum_of(sizes_of(folder.path) for folder in folders)
    if not dry_run:
        for folder in folders:
            with held_if_free(folder.path) as is_free:
                if not is_free:
                    raise RequestError(f"Another process began to work on the run {folder.path.name}: try again later.")
                remove_whole(folder.path)
    return Removal(tuple(folder.path.name for folder in folders), sizes.total)


def prune_runs(runs: Path, *, keep: str = "selected", dry_run: bool = False) -> Removal:
    """Remove the weights of finished fits that no kept study selected; with `keep="none"`, of all finished fits.

    Records and predictions stay, so that tables, reports and submissions of answered splits need no fit to run again.
    The fits of a study that is not complete count as selected. A fit without a backbone, such as the majority answer,
    has no weights. A run that another process works on is left alone.
    """
    if keep not in KEEP:
        raise RequestError(f"keep must be {' or '.join(KEEP)}, not '{keep}'.")
    needed = set() if keep == "none" else _needed(runs)
    removed = []
    in_use = []
    size = 0
    if not dry_run:
        remove_leftovers(runs)
        for record in runs.glob("*/record.json"):
            remove_leftovers(record.parent)
    for model in sorted(runs.glob("*/model")):
        folder = RunFolder(runs, model.parent.name)
        if folder.path.name in needed or not (folder.path / "record.json").is_file() or not _has_backbone(folder):
            continue
        with held_if_free(folder.path) as is_free:
            if not is_free:
                in_use.append(folder.path.name)
                continue
            size += sizes_of(folder.path).of_kinds["weights"]
            removed.append(folder.path.name)
            if not dry_run:
                remove_whole(model)
    return Removal(tuple(removed), size, tuple(in_use))


def _needed(runs: Path) -> set[str]:
    """Return the ids of the fits whose weights kept studies need."""
    studies, faults = kept_studies(runs)
    if faults:
        raise RequestError(f"{faults[0]} Nothing was removed, because the runs that this study selected are not known.")
    needed: set[str] = set()
    for study in studies:
        needed |= study.selected if study.ended else study.fits
    return needed


def _has_backbone(folder: RunFolder) -> bool:
    """Whether a run is the fit of a backbone; a folder that cannot be read is none."""
    try:
        return bool(folder.fit().backbone)
    except RequestError:
        return False


def _is_free(folder: RunFolder) -> bool:
    with held_if_free(folder.path) as is_free:
        return is_free


def disk_usage(runs: Path) -> tuple[dict[str, Sizes], Removal]:
    """Return the size of each run, and what `prune_runs` would remove."""
    sizes = {path.parent.name: sizes_of(path.parent) for path in sorted(runs.glob("[!.]*/fit.json"))}
    return sizes, prune_runs(runs, dry_run=True)
