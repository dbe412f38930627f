"""Reports of metrics whose lower values are better."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import finished_studies
from benchrunner import Metric
from benchrunner.results import Grid, compared, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_report.disagreement import Disagreement
from benchrunner_report.drawings.study_charts import _shown_tests
from benchrunner_report.grading import graded
from benchrunner_statistics import AnsweredRows
from finished_studies import finish, task


def distance(gold: float, answer: float) -> float:
    return abs(gold - answer)


MAE = Metric.of_rows("mae", distance, scale=1.0, lower_is_better=True)


def test_pages_show_errors_above_zero_and_the_least_as_best(tmp_path: Path) -> None:
    levels = {"made/poor": 0.2, "made/good": 0.97, "made/fair": 0.5}
    number = replace(task("made/number", "regress", rows=120), metrics=(MAE,))
    made = finished_studies.runner(tmp_path, (number,), tuple(levels))
    study = compared(tuple(levels), (number,), Fitting(Grid({"lr": (3e-5,)}), seeds=(0, 1, 2)))
    finish(study, made, levels)
    result = run_study(study, made)
    assert {other for _, other, _ in _shown_tests(result)} == {"made/good"}, "differences from the best"
    rows = AnsweredRows.kept(result.cells, "dev")
    grading = graded(rows)
    assert (grading.unit, grading.title) == ("mae", "mean mae of single rows")
    assert grading.rule == "An answer is the better the lower its mae is."
    assert 0 < grading.mean("made/good") < grading.mean("made/fair") < grading.mean("made/poor")
    page = Disagreement.of(rows, grading).as_json
    shown = [given[2] * page["sign"] for row in page["rows"] for of_system in row["a"] for given in of_system]
    assert page["sign"] == -1 and min(shown) == 0 < max(shown)
