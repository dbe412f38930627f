"""The figure of a study along an axis: its scale, its marks, and the crossings below the lines."""

from dataclasses import replace
from pathlib import Path

import pytest

import finished_studies
from benchrunner.results import Result, Runner, compared, comparison, run_study
from benchrunner.statistics.crossings import Crossings, Stretch
from benchrunner.studies.significance.differences import Pairing
from benchrunner.studies.significance.study_statistics import StudyStatistics
from benchrunner_report.gathering import gather
from benchrunner_report.rendering import rendered
from benchrunner_report.series_figure import series_chart, series_marker
from benchrunner_report.svg import LogarithmicScale
from finished_studies import finish, task


@pytest.fixture(scope="module")
def curve(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Runner]:
    tasks = (task("made/classify", rows=60),)
    made = finished_studies.runner(tmp_path_factory.mktemp("curve"), tasks, ("one", "other"))
    study = compared(("one", "other"), tasks, seeds=(0, 1, 2), limits=(8, None))
    finish(study, made, {system.name: 0.6 for system in study.systems})
    return run_study(study, made), made


def test_equal_factors_are_equally_far_on_a_logarithmic_scale() -> None:
    scale = LogarithmicScale.of([64.0, 16.0, 256.0, 16.0], 0, 100)
    assert scale(64.0) == pytest.approx((scale(16.0) + scale(256.0)) / 2)
    assert (scale(16.0), scale(256.0)) == (pytest.approx(5), pytest.approx(95))
    assert list(scale.ticks()) == [16, 64, 256]
    assert list(LogarithmicScale.of([16.0, 17.0, 64.0], 0, 100).ticks()) == [16, 64]


def test_more_lines_than_shapes_can_be_told_apart() -> None:
    marks = {series_marker(series) for series in range(12)}
    assert len(marks) == 12


def test_a_crossing_is_drawn_with_its_interval(curve: tuple[Result, Runner]) -> None:
    result, _ = curve
    column = result.study.columns[0].name
    found = Crossings(8, 60, (Stretch(10, 40, 20, True), Stretch(8, 9)), 0.95)
    known = replace(result.statistics, crossings={Pairing("other", "one", column): found})
    lines = [line for line in comparison.series(result) if line["column"] == column]
    drawn = str(series_chart(replace(result, given_statistics=known), column, lines, 1))
    assert drawn.count("other overtakes one at 20 training rows, interval 10 to 40") == 2, (
        "a title, and the description"
    )
    assert drawn.count('class="range"') == 1
    alone = replace(result, given_statistics=StudyStatistics())
    assert "overtakes" not in str(series_chart(alone, column, lines, 1))


def test_the_page_of_a_curve_has_lines_and_its_figure(curve: tuple[Result, Runner]) -> None:
    page = rendered(gather(*curve))
    assert "<title>one and other on made/classify</title>" in page
    assert "along training rows" in page
    assert "backbone\nby training rows" in page


def test_a_point_without_a_place_is_left_out(curve: tuple[Result, Runner], tmp_path: Path) -> None:
    result, _ = curve
    column = result.study.columns[0].name
    (line, *_) = [line for line in comparison.series(result) if line["column"] == column]
    assert line["at"] == [8, 60]
    assert series_chart(result, column, [{**line, "at": [8, None]}], 1) is None
