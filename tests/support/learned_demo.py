"""The demo of one plugin, run with the tiny encoder: every task is learned, and a submission is written."""

from pathlib import Path
from types import ModuleType

import benchrunner_leaderboards
from benchrunner import hookimpl
from benchrunner.results import Computing, Runner, StudyOptions, compared, discover, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_kit.demo import Demo
from benchrunner_kit.testing import tiny_family


class Tiny:
    """A plugin with the tiny encoder."""

    @staticmethod
    @hookimpl
    def register_backbones() -> list[object]:
        return [tiny_family()]


def learned_tasks(name: str, plugin: ModuleType, folder: Path) -> list[str]:
    """Fit all tasks of a plugin to their demo data, check its submission, and name the tasks that beat the majority."""
    offered = [(name, plugin), ("tiny", Tiny), ("leaderboards", benchrunner_leaderboards)]
    plugins = discover(extra=offered, installed=False)
    assert not plugins.set_aside
    demo = Demo.of(folder, plugins)
    changes = {"epochs": 8, "batch_size": 8, "lr": 0.02, "precision": "fp32"}
    tasks = [task for task in plugins.tasks.values() if task.demo_files is not None]
    demo.write_data(tasks)
    runner = Runner(plugins, demo.workspace, Computing("cpu"))
    result = run_study(compared(demo.backbones, tasks, Fitting(changes=changes)), runner)
    assert result.is_complete
    (submission,) = demo.write_submissions(tasks, StudyOptions(recipe=changes), runner)
    assert submission.faults == ()
    print({term: spread.mean.value for cell in result.cells for term, spread in cell.figures.items()})
    return [
        cell.cell.task.name
        for cell in result.cells
        for term, spread in list(cell.figures.items())[:1]
        if (spread.mean.value or 0) > (result.baseline[term].value or 0)
    ]
