"""The figure of a study along an axis: its lines and its title."""

import pytest

import finished_studies
from benchrunner.results import Result, Runner, compared, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_report.gathering import gather
from benchrunner_report.rendering import rendered
from finished_studies import finish, task


@pytest.fixture(scope="module")
def curve(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Runner]:
    tasks = (task("made/classify", rows=60),)
    made = finished_studies.runner(tmp_path_factory.mktemp("curve"), tasks, ("one", "other"))
    study = compared(("one", "other"), tasks, Fitting(seeds=(0, 1, 2)), limits=(8, None))
    finish(study, made, {system.name: 0.6 for system in study.systems})
    return run_study(study, made), made


def test_the_page_of_a_curve_has_lines_and_its_figure(curve: tuple[Result, Runner]) -> None:
    page = rendered(gather(*curve))
    assert "one and other on made/classify" in page and "by training rows" in page
    assert "along training rows; bars: 95% interval" in page and "one (8 rows) and" not in page
