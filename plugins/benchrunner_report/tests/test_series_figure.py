"""The figure of a study along an axis: its scale and its marks."""

import pytest

import finished_studies
from benchrunner.results import Result, Runner, compared, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_report.drawings.svg import LogarithmicScale
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


def test_equal_factors_are_equally_far_on_a_logarithmic_scale() -> None:
    scale = LogarithmicScale.of([64.0, 16.0, 256.0, 16.0], 0, 100)
    assert scale(64.0) == pytest.approx((scale(16.0) + scale(256.0)) / 2)
    assert (scale(16.0), scale(256.0)) == (pytest.approx(5), pytest.approx(95))
    assert list(scale.ticks()) == [16, 64, 256]
    assert list(LogarithmicScale.of([16.0, 17.0, 64.0], 0, 100).ticks()) == [16, 64]


def test_the_page_of_a_curve_has_lines_and_its_figure(curve: tuple[Result, Runner]) -> None:
    page = rendered(gather(*curve))
    assert "one and other on made/classify" in page and "by training rows" in page
    assert "along training rows; bars: 95% interval" in page and "one (8 rows) and" not in page
