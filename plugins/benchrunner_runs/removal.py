"""Remove runs, or only the weights that no kept study needs. A folder that another process works in is left alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchrunner import RequestError
from benchrunner.results import find_run, kept_studies, remove_leftovers
from benchrunner_runs.sizes import sizes_of

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
    busy = [folder.path.name for folder in folders if folder.is_in_use]
    if busy:
        raise RequestError(f"Another process works on the run {', '.join(busy)}. Nothing was removed.")
    size = sum(sizes_of(folder.path).total for folder in folders)
    if not dry_run:
        for folder in folders:
            if not folder.remove():
                raise RequestError(f"Another process began to work on the run {folder.path.name}: try again later.")
    return Removal(tuple(folder.path.name for folder in folders), size)


def prune_runs(runs: Path, *, keep: str = "selected", dry_run: bool = False) -> Removal:
    """Remove the weights of finished fits that no kept study selected; with `keep="none"`, of all finished fits.

    So is the state of a training that a longer fit could go on from.

    Records and predictions stay, so that tables, reports and submissions of answered splits need no fit to run again.
    The fits of a study that is not complete count as selected. A fit without a backbone, such as the majority answer,
    has no weights. A run that another process works on is left alone.
    """
    if keep not in KEEP:
        raise RequestError(f"keep must be {' or '.join(KEEP)}, not '{keep}'.")
    needed = set() if keep == "none" else _needed(runs)
    removed = dict[str, None]()
    in_use = dict[str, None]()
    size = 0
    if not dry_run:
        remove_leftovers(runs)
        for record in runs.glob("*/record.json"):
            remove_leftovers(record.parent)
    for content in sorted((*runs.glob("*/model"), *runs.glob("*/state"))):
        path = content.parent
        if path.name in needed or not (path / "record.json").is_file() or not _has_backbone(path):
            continue
        folder = find_run(runs, str(path))
        of_content = sizes_of(content).total
        if folder.is_in_use if dry_run else not folder.remove(content.name):
            in_use[path.name] = None
        else:
            removed[path.name] = None
            size += of_content
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


def _has_backbone(path: Path) -> bool:
    """Whether a run is the fit of a backbone; a folder that cannot be read is none."""
    try:
        return bool(find_run(path.parent, str(path)).fit().backbone)
    except RequestError:
        return False
