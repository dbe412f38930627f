"""Finished studies of a few backbones on a task of each kind, for reports."""

from __future__ import annotations

from pathlib import Path

import finished_studies
from benchrunner.results import Grid, Result, Runner, compared, run_study
from benchrunner.studies.cells import Fitting
from finished_studies import finish, task

NAMES = ("made/good", "made/poor")
KINDS = ("classify", "regress", "choose", "tag", "span")


def small(folder: Path, kinds: tuple[str, ...] = KINDS, names: tuple[str, ...] = NAMES) -> tuple[Result, Runner]:
    """Finish a study of some backbones on a task of each kind."""
    tasks = tuple(task(f"made/{kind}", kind) for kind in kinds)
    made = finished_studies.runner(folder, tasks, names)
    study = compared(names, tasks, Fitting(Grid({"lr": (3e-5, 2e-5)}), seeds=(0, 1, 2)))
    finish(study, made, dict(zip(names, (0.8, 0.5, 0.6), strict=False)))
    return run_study(study, made, keep_as="kept"), made
