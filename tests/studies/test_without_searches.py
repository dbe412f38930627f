"""Studies where no plugin chooses which fits come next: all run, and what asks for a choice is refused."""

import argparse
from pathlib import Path

import pytest

from benchrunner import RequestError
from benchrunner.command_line import options
from benchrunner.results import Grid, Runner, StudyOptions, compared, run_study
from benchrunner.studies.cells import Fitting
from inline import METHODS, own_and, runner


@pytest.fixture
def bare(tmp_path: Path) -> Runner:
    return Runner(own_and(METHODS), runner(tmp_path).workspace)


def test_all_grid_points_run(bare: Runner) -> None:
    study = compared(("words",), (bare.plugins.tasks.find("mood"),), Fitting(Grid({"lr": (1e-2, 2e-2)}), seeds=(0, 1)))
    (cell,) = run_study(study, bare).cells
    assert [len(point.fits) for point in cell.cell.candidates] == [2, 2]


def test_looks_and_limits_are_refused(bare: Runner) -> None:
    task = bare.plugins.tasks.find("mood")
    with pytest.raises(RequestError, match="the plugin 'search' does"):
        run_study(compared(("words",), (task,), Fitting(seeds=(0, 1, 2), looks=(2, 3))), bare)
    with pytest.raises(RequestError, match="the plugin 'search' does"):
        run_study(compared(("words",), (task,)), bare, limit="4h")


def test_options_of_searches_are_not_known(bare: Runner) -> None:
    with pytest.raises(RequestError, match="There is no option 'trials'"):
        StudyOptions.named({"trials": 3}, {}, bare.plugins)


def test_without_plugins_a_parser_has_the_core_options() -> None:
    parser = argparse.ArgumentParser()
    options.add_study(parser)
    assert parser.parse_args(["--restarts", "3"]).limit is None
