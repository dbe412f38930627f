"""The figure of a study along an axis: its scale, its marks, and the crossings below the lines."""

from dataclasses import replace

import pytest

import finished_studies
from benchrunner.results import Result, Runner, compared, run_study
from benchrunner.statistics.crossings import Crossings, Stretch
from benchrunner.studies.significance.differences import Pairing
from benchrunner.studies.significance.study_statistics import StudyStatistics
from benchrunner_report.drawings.study_charts import study_cards
from benchrunner_report.drawings.svg import LogarithmicScale
from benchrunner_report.gathering import gather
from benchrunner_report.rendering import rendered
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


def test_a_crossing_is_drawn_with_its_interval(curve: tuple[Result, Runner]) -> None:
    result, _ = curve
    column = result.study.columns[0].name
    stretches = (Stretch(10, 40, 20, True), Stretch(8, 9))
    for confidence, said in ((0.95, ", interval 10 to 40"), (None, "")):
        found = Crossings(8, 60, stretches, confidence)
        known = replace(result.statistics, crossings={Pairing("other", "one", column): found})
        card = next(study_cards(replace(result, given_statistics=known)))
        drawn = str(card.drawings[0])
        assert card.title == column and drawn.count('class="strip"') == 1
        assert f"<title>other overtakes one at 20 training rows{said}</title>" in drawn
    alone = replace(result, given_statistics=StudyStatistics())
    assert "overtakes" not in str(next(study_cards(alone)).drawings)


def test_the_page_of_a_curve_has_lines_and_its_figure(curve: tuple[Result, Runner]) -> None:
    page = rendered(gather(*curve))
    assert "one and other on made/classify" in page and "by training rows" in page
    assert "along training rows; bars: 95% interval" in page and "one (8 rows) and" not in page
