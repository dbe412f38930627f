"""Remove runs, or only the weights that no kept study needs. A folder that another process works in is left alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchrunner import RequestError, remove_leftovers
from benchrunner.results import find_run, kept_studies, predicting
from benchrunner_runs.sizes import size_of

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
    studies: tuple[str, ...] = ()
    """Names of the kept studies that were removed."""


def studies_of(runs: Path) -> dict[str, list[str]]:
    """Map the id of each selected run to the names of the kept studies that selected it."""
    names: dict[str, list[str]] = {}
    for study in kept_studies(runs)[0]:
        for fit in study.selected:
            names.setdefault(fit, []).append(study.name)
    return names


def remove_runs(runs: Path, names: Sequence[str], *, force: bool = False, dry_run: bool = False) -> Removal:
    """Remove whole runs and kept studies: records, predictions and weights.

    Runs are named by their ids, beginnings of ids, or folders. A kept study is removed with the runs that no other kept
    study shows. A run that a kept study shows, as a restart, grid point
    or majority answer, is an error unless `force` is true; so is a run that another process works on. Then nothing is
    removed.
    """
    remove_leftovers(runs)
    shown = _shown(runs, force=force)
    leaving = {name: shown.pop(name) for name in dict.fromkeys(names) if name in shown}
    showing = {run: study for study, of_study in shown.items() for run in of_study}
    folders = {}
    for of_study in leaving.values():
        for run in sorted(of_study - showing.keys()):
            if (runs / run).is_dir():
                folders[run] = find_run(runs, run)
    for name in names:
        if name in leaving:
            continue
        folder = find_run(runs, name)
        run = folder.path.name
        folders[run] = folder
        if run in showing and not force:
            raise RequestError(
                f"The kept study {showing[run]} shows the run {run}, and would lack it. Nothing was removed. To remove "
                "the run nevertheless, give --force."
            )
    busy = [run for run, folder in folders.items() if folder.is_in_use]
    if busy:
        raise RequestError(f"Another process works on the run {', '.join(busy)}. Nothing was removed.")
    size = sum(size_of(folder.path) for folder in folders.values())
    if not dry_run:
        for study in leaving:
            (runs / "studies" / f"{study}.json").unlink()
        for run, folder in folders.items():
            if not folder.remove():
                raise RequestError(f"Another process began to work on the run {run}: try again later.")
    return Removal(tuple(folders), size, studies=tuple(leaving))


def _shown(runs: Path, *, force: bool) -> dict[str, set[str]]:
    """Map the name of each kept study to the ids of the runs that it shows.

    With `force`, studies that cannot be read are left out; otherwise they are an error.
    """
    studies, faults = kept_studies(runs)
    if not force:
        _check(faults)
    majority = tuple(predicting.majority_fits(runs))
    shown = {}
    for study in studies:
        fits = [fit for cell in study.cells for point in cell.candidates for fit in point.fits]
        rows = {(fit.task, fit.data) for fit in fits}
        shown[study.name] = {fit.id for fit in (*fits, *majority) if (fit.task, fit.data) in rows}
    return shown


def prune_runs(runs: Path, *, keep: str = "selected", dry_run: bool = False) -> Removal:
    """Remove the weights of finished fits that no kept study selected, and the checkpoints of fits that were stopped.

    With `keep="none"`, these are the weights and checkpoints of all fits. The state of a training that a longer fit
    could go on from is removed as weights are.

    Records and predictions stay, so that tables, reports and submissions of answered splits need no fit to run again.
    The fits of a study that is not complete keep weights and checkpoints. A fit without a backbone, such as the
    majority answer, has no weights. A run that another process works on is left alone.
    """
    if keep not in KEEP:
        raise RequestError(f"keep must be {' or '.join(KEEP)}, not '{keep}'.")
    needed = set[str]()
    if keep == "selected":
        studies, faults = kept_studies(runs)
        _check(faults)
        for study in studies:
            needed |= study.selected if study.ended else study.fits
    removed = dict[str, None]()
    in_use = dict[str, None]()
    size = 0
    if not dry_run:
        remove_leftovers(runs)
        for record in runs.glob("*/record.json"):
            remove_leftovers(record.parent)
    for content in sorted((*runs.glob("*/model"), *runs.glob("*/state"), *runs.glob("*/checkpoint"))):
        path = content.parent
        is_checkpoint = content.name == "checkpoint"
        of_content = size_of(content)
        if not (is_checkpoint or (path / "record.json").is_file()) or not _has_backbone(path):
            continue
        folder = find_run(runs, str(path))
        if path.name in needed:
            continue
        if folder.is_in_use if dry_run else not folder.remove(content.name):
            in_use[path.name] = None
        else:
            removed[path.name] = None
            size += of_content
    return Removal(tuple(removed), size, tuple(in_use))


def _check(faults: Sequence[str]) -> None:
    """Raise a `RequestError` if a kept study cannot be read."""
    if faults:
        raise RequestError(f"{faults[0]} Nothing was removed, because the runs of this study are not known.")


def _has_backbone(path: Path) -> bool:
    """Whether a run is the fit of a backbone; a folder that cannot be read is none."""
    try:
        return bool(find_run(path.parent, str(path)).fit().backbone)
    except RequestError:
        return False
