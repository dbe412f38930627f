"""Cross-validated studies: each row is answered by the fit that has not seen it, and all answers have one score."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchrunner import ACCURACY, Metric, RequestError, Rows, Score
from benchrunner.engine import Job
from benchrunner.errors import FitError
from benchrunner.methods.method import Method, Outcome
from benchrunner.parameters.recipes import Recipe
from benchrunner.results import Fit, StudyOptions, compared, predict, read_study, run_study
from benchrunner.runs.predicting import raw_outputs
from benchrunner.studies.comparison.footnotes import footnotes
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.tasks.folds import divided_rows, in_folds
from benchrunner_statistics.study_statistics import scored_answers
from benchrunner_studies.dry_run import dry_run_study
from benchrunner_studies.dry_run_table import notes
from benchrunner_tasks import PEARSON
from inline import mood, runner
from kinds_of_tasks import task_of_kind


class Remembering(Method):
    """Answers right only those rows that it has learned from."""

    name = "remembering"
    about = "remembers its rows"
    needs_backbone = False

    def fit(self, job: Job) -> Outcome:
        assert job.train is not None
        job.model.mkdir(parents=True)
        (job.model / "texts.json").write_text(json.dumps(job.train.table.column("a").to_pylist()))
        return Outcome("done")

    def predict(self, job: Job, table: Any) -> np.ndarray:
        known = set(json.loads((job.model / "texts.json").read_text()))
        glad = np.array([label == "glad" for label in table.column("label").to_pylist()])
        seen = np.array([text in known for text in table.column("a").to_pylist()])
        return np.stack([seen == glad, seen != glad], axis=1).astype(np.float32)


def test_no_row_is_answered_by_a_fit_that_saw_it(tmp_path: Path) -> None:
    made = runner(tmp_path, register_methods=[Remembering()])
    fit = made.planner.plan(made.plugins.tasks.find("mood@5"), "words", method="remembering")
    assert predict(fit, "folds", made).record.scores["accuracy"].value == 0.0
    whole = made.planner.plan(mood(), "words", method="remembering")
    assert predict(whole, "train", made).record.scores["accuracy"].value == 1.0
    assert whole.id != fit.id and whole.data == fit.data


@pytest.mark.parametrize("kind", ["classify", "regress", "tag", "choose", "span", "labels"])
def test_answers_are_those_of_fits_of_the_other_folds(kind: str, tmp_path: Path) -> None:
    """The reference predicts each fold with a fit to the other rows, and puts the answers into their places."""
    task = task_of_kind(kind, recipe=Recipe(lr=0.02, epochs=1, batch_size=8, context="sentence"))
    made = runner(tmp_path, register_tasks=[task])
    pooled = made.plugins.tasks.find(f"{task.name}@3")
    fit = made.planner.plan(pooled, "words", seed=1)
    rows = made.planner.rows(pooled, "folds")

    def untuned(fit: Fit, rows: Rows) -> list[Any]:
        outputs = np.array(raw_outputs(fit, rows, made))
        return list(task.problem.decode(outputs, rows.table, dict(task.problem.decoding)))

    answers = untuned(fit, rows)
    assert pooled.folds is not None
    expected = [None] * len(rows)
    for fold, numbers in enumerate(divided_rows(rows, pooled.folds, 1), start=1):
        own = made.plugins.tasks.find(f"{task.name}@3.1.{fold}")
        alone = made.planner.plan(own, "words", seed=1)
        assert (
            alone.data
            == made.planner.rows(task, "train").taken(sorted(set(range(len(rows))) - set(numbers))).fingerprint
        )
        assert not made.folder(alone).model.exists(), "no weights are kept"
        for row, answer in zip(numbers, untuned(alone, made.planner.rows(own, "folds")), strict=True):
            expected[row] = answer
    assert answers == expected
    assert len(raw_outputs(fit, rows, made)) == task.problem.output_count(rows.table)


def test_a_study_scores_all_answers_and_is_read_again(tmp_path: Path) -> None:
    made = runner(tmp_path)
    options = StudyOptions({"max_length": 16, "lr": (2e-2, 1e-5)}, folds=(2, 2))
    result = run_study(options.study(("words",), (made.plugins.tasks.find("mood"),), made), made)
    (cell,) = result.cells
    assert [fit.seed for fit in cell.restarts] == [0, 1] and {fit.folds for fit in cell.restarts} == {2}
    rows = made.planner.rows(cell.cell.task, "folds")
    gold = rows.table.column("label").to_pylist()
    for fit, value in zip(cell.restarts, next(iter(cell.figures.values())).values, strict=True):
        answers = cell.predicted(fit, "folds").answers
        assert value == pytest.approx(np.mean([a == b for a, b in zip(answers, gold, strict=True)]))
    assert any("each row is answered by one of 2 fits" in note for note in as_json(result)["notes"])
    scored = scored_answers(cell, result.study.columns[0].term(cell.cell.task))
    assert [each.folds for each in scored] == [2, 2]
    again = read_study(result.name, made)
    assert again.cells[0].figures == cell.figures and again.baseline == result.baseline


@pytest.mark.parametrize(("kind", "metric"), [("classify", ACCURACY), ("regress", PEARSON)])
def test_the_majority_answer_of_folds_is_one_for_all_rows(kind: str, metric: Metric, tmp_path: Path) -> None:
    """Means of the other folds are low where the rows of a fold are high: their correlation would be below 0."""
    task = replace(task_of_kind(kind, recipe=Recipe(epochs=1)), metrics=(metric,))
    made = runner(tmp_path, register_tasks=[task])
    pooled = made.plugins.tasks.find(f"{task.name}@5")
    (score,) = run_study(compared(("words",), (pooled,)), made).baseline.values()
    if kind == "regress":
        assert score == Score(None, "no correlation: all predictions are the same")
    else:
        labels = Counter(made.planner.rows(task, "train").table.column("label").to_pylist())
        assert score.value == max(labels.values()) / labels.total()


def test_majority_answers_are_not_called_cross_validated(tmp_path: Path) -> None:
    """A task and the same task in folds share the fit of the majority answer, which has learned from all rows."""
    made = runner(tmp_path)
    for name in ("mood@5", "mood"):
        study = compared(("words",), (made.plugins.tasks.find(name),), methods=("majority",))
        assert not any("cross-validated" in note for note in as_json(run_study(study, made))["notes"])


def test_a_fold_that_fails_is_a_lost_restart(tmp_path: Path) -> None:
    class Failing(Remembering):
        def fit(self, job: Job) -> Outcome:
            if job.fit.task.endswith(".2"):
                raise FitError("no luck")
            return super().fit(job)

    made = runner(tmp_path, register_methods=[Failing()])
    fit = made.planner.plan(made.plugins.tasks.find("mood@3"), "words", method="remembering")
    record = made.run(fit)
    assert (record.id, record.status, record.reason) == (fit.id, "failed", "no luck")


def test_a_task_without_dev_has_a_way_out(tmp_path: Path) -> None:
    task = mood(splits={"train": mood().splits["train"]})
    made = runner(tmp_path, register_tasks=[task])
    with pytest.raises(RequestError, match=r"mine/mood has no split of the role 'dev' .*--folds 5"):
        compared(("words",), (task,))
    assert run_study(compared(("words",), (in_folds(task, "3"),)), made).cells[0].selected is not None


def test_fits_of_folds_train_alone_and_all_their_passes_count(tmp_path: Path) -> None:
    """Of 48 rows, each of 2 folds learns from 24: one pass an epoch, and 1 + 2 epochs for two seeds."""
    recipe = Recipe(lr=0.02, batch_size=8, schedule="constant", warmup=0.0)
    made = runner(tmp_path, register_tasks=[mood(recipe=recipe)])
    options = StudyOptions(recipe={"epochs": (1, 2)}, folds=(2, 2), search={"early_stop": 1})
    study = options.study(("words",), (made.plugins.tasks.find("mood"),), made)
    said = "\n".join(notes(dry_run_study(study, made)))
    assert f"which read {48 * 3 * 2} rows" in said.replace(",", "") and "go on from" not in said
    assert "2 grid points, 4 fits, 6 epochs" in "\n".join(footnotes(run_study(study, made)))
