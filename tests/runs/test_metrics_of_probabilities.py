"""Metrics that are computed from probabilities: in records, for answers, and absent for prediction files."""

from pathlib import Path

import pytest

from benchrunner import ACCURACY, Classify, PluginError, Regress, Score
from benchrunner.runs.ensembles import Answered, answer
from benchrunner.runs.folder import read_prediction
from benchrunner.runs.predicting import majority_scores, predict, raw_outputs
from benchrunner_answers.audit import Question, audit_files
from benchrunner_kit.testing import check_task
from benchrunner_submit.own_questions.answer_texts import AnswerTexts
from benchrunner_tasks import PEARSON, roc_auc
from inline import QUICK, mood, runner

AREA = roc_auc(("glad", "sad"), "glad")


def test_probabilities_are_written_by_the_labels_as_they_are(tmp_path: Path) -> None:
    task = mood(problem=Classify(("fröhlich", "sad")))
    rows = runner(tmp_path).planner.rows(mood(), "test").taken([0])
    answered = Answered(task, rows, ["sad"], {"probabilities": [[0.25, 0.75]]}, {}, "fit")
    written = "".join(AnswerTexts(answered, has_probabilities=True).lines())
    assert written == "index\tprediction\tfröhlich\tsad\n0\tsad\t0.25\t0.75\n"


def test_a_record_and_answers_have_the_area_of_the_outputs(tmp_path: Path) -> None:
    task = mood(metrics=(AREA, ACCURACY))
    fit_runner = runner(tmp_path, register_tasks=[task])
    fit = fit_runner.planner.plan(task, "words", recipe=QUICK)
    predicted = predict(fit, "dev", fit_runner)
    scores = predicted.record.scores
    rows = fit_runner.planner.rows(task, "dev")
    probabilities = Classify(("glad", "sad")).extra_figures(raw_outputs(fit, rows, fit_runner), rows.table, {})
    gold = rows.table.column("label").to_pylist()
    assert scores["roc_auc"].value == AREA.compute(gold, probabilities["probabilities"])
    assert scores["roc_auc"].value > 0.5
    assert answer([fit.id], fit_runner, split="dev").scores == scores
    assert majority_scores(fit, read_prediction(predicted.folder), fit_runner)["roc_auc"] == Score(0.5)


def test_a_file_of_answers_has_no_area(tmp_path: Path) -> None:
    task = mood(metrics=(ACCURACY, AREA))
    fit_runner = runner(tmp_path, register_tasks=[task])
    rows = fit_runner.planner.rows(task, "dev")
    (tmp_path / "answers.txt").write_text("\n".join(rows.table.column("label").to_pylist()) + "\n")
    [audited] = audit_files([tmp_path / "answers.txt"], Question(task, rows, fit_runner))
    scores = audited.scores
    assert scores["accuracy"] == Score(1.0)
    assert scores["roc_auc"] == Score(None, "roc_auc is computed from probabilities, and there are answers only")


def test_a_task_is_checked_for_the_figures_of_its_metrics(tmp_path: Path) -> None:
    check_task(mood(metrics=(AREA,)), tmp_path / "good")
    numbers = mood(problem=Regress(0, 1), metrics=(PEARSON, AREA), demo_files=numbered)
    with pytest.raises(PluginError, match="roc_auc is computed from probabilities, which extra_figures does not give"):
        check_task(numbers, tmp_path / "bad")


def numbered(folder: Path) -> None:
    """Write the three splits with numbers as labels."""
    (folder / "mood").mkdir(parents=True, exist_ok=True)
    for name in ("train", "dev", "test"):
        lines = ["text\tmood", "a day\t0.25", "a night\t0.75"]
        (folder / "mood" / f"{name}.tsv").write_text("\n".join(lines) + "\n")
