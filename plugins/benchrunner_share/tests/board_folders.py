"""Shared folders of three made-up systems on two tasks, written once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchrunner import Task
from benchrunner.results import Result, Runner, compared, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_share.share import share_study
from finished_studies import finish, runner, task

SKILLS = {"lab/good": 0.9, "lab/<b>fair</b>": 0.7, "lab/poor": 0.5}
"""System -> the share of rows that it answers right."""
SECRET = "a sentence that only the owner of the data may read"
TASKS: tuple[Task, ...] = (
    task("made/pairs", rows=40, texts=dict.fromkeys(range(40), SECRET)),
    task("made/numbers", "regress", rows=40),
)


@dataclass(frozen=True)
class Folders:
    """A folder of shared folders, and the runner whose data verifies them."""

    results: Path
    runner: Runner
    together: Result
    """The study of all systems, as `compare` finds it."""


def made_folders(home: Path) -> Folders:
    """Share a study of each system, and run the study of all."""
    made = runner(home, TASKS, list(SKILLS))
    study = compared(list(SKILLS), TASKS, Fitting(seeds=(0, 1, 2)))
    finish(study, made, SKILLS)
    for number, name in enumerate(SKILLS):
        share(name, TASKS, made, home / "results" / f"folder-{number}")
    return Folders(home / "results", made, run_study(study, made, show_progress=False))


def share(name: str, tasks: tuple[Task, ...], made: Runner, out: Path) -> None:
    """Share the finished fits of a system on some tasks."""
    result = run_study(compared([name], tasks, Fitting(seeds=(0, 1, 2))), made, show_progress=False)
    share_study(result, out, made, name=f"study of {name}", report=False)
