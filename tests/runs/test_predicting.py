"""Predictions of a finished fit: made once, scored where rows have labels, and refused where answers are wrong."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchrunner import Classify, Metric, Score
from benchrunner.errors import DamagedFile, FitError, RequestError
from benchrunner.results import Runner
from benchrunner.runs.predicting import predict
from benchrunner_tasks import MATTHEWS
from inline import mood, runner
from moody import Moody, fine_tuned, with_method


def test_answers_are_computed_once_and_scored(tmp_path: Path) -> None:
    made, fit = with_method(tmp_path, method := Moody())
    first = predict(fit, "dev", made)
    method.answers = ValueError("must not be asked again")
    again = predict(fit, "dev", made)
    assert first == again
    assert first.answers == ["glad"] * 24
    glad = made.planner.rows(made.plugins.tasks.find("mood"), "dev").table.column("label").to_pylist().count("glad")
    assert first.record.scores == {"accuracy": Score(glad / 24), "matthews": Score(0.0)}
    assert "constant predictions" in first.record.flags
    assert (
        predict(made.planner.plan(made.plugins.tasks.find("mood"), "", method="majority"), "dev", made).record.flags
        == ()
    )


def test_a_prediction_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    made, fit = with_method(tmp_path, Moody())
    made.run(fit)
    folder = made.folder(fit).path
    half = folder / "predictions" / ".0123456789abcdef.x.part"
    half.mkdir(parents=True)
    (half / "answers.jsonl").write_text("[")
    (folder / ".tuned.json.x.part").write_text("{")
    predict(fit, "dev", made)
    assert not list(folder.rglob("*.part"))


def test_rows_without_labels_have_answers_and_no_scores(tmp_path: Path) -> None:
    made, fit = with_method(tmp_path, Moody())
    predicted = predict(fit, "test", made)
    assert (len(predicted.answers), predicted.record.scores) == (20, {})
    assert [np.load(one).shape for one in made.folder(fit).path.glob("outputs/*.npy")] == [(20, 2)]


def test_changed_rows_repredict_and_a_changed_train_set_fails(tmp_path: Path) -> None:
    made, fit = with_method(tmp_path, Moody())
    before = predict(fit, "test", made).folder
    for name in ("test", "train"):
        path = tmp_path / "data" / "mood" / f"{name}.tsv"
        path.write_text(path.read_text().replace("day", "night", 1))
    made = Runner(made.plugins, made.workspace)
    assert predict(fit, "test", made).folder != before
    made.folder(fit).path.joinpath("record.json").unlink()
    with pytest.raises(RequestError, match=r"The training data of the fit .* \(mine/mood, moody\) changed"):
        made.run(fit)


def test_a_problem_and_a_metric_may_write_into_what_they_get(tmp_path: Path) -> None:
    class Rude(Classify):
        def decode(self, outputs: Any, table: Any, settings: Any) -> list[Any]:
            outputs *= -1
            return super().decode(-outputs, table, settings)

        def extra_figures(self, outputs: Any, table: Any, settings: Any) -> Any:
            outputs *= -1
            return super().extra_figures(-outputs, table, settings)

        def is_constant(self, answers: Any) -> bool:
            answers.sort()
            return super().is_constant(answers)

    def lowest(gold: Any, predicted: Any) -> float:
        predicted.sort()
        return 0.0

    problem = Rude(("glad", "sad"))
    metrics = (Metric("lowest", lowest), Metric("lowest p", lowest, computed_from="probabilities"))
    made = runner(tmp_path / "rude", register_tasks=[mood(problem=problem, metrics=(*metrics, *mood().metrics))])
    polite = runner(tmp_path / "polite")
    fit, other = fine_tuned(made, epochs=8), fine_tuned(polite, epochs=8)
    for _ in range(2):  # outputs from memory, then from the file
        found, expected = predict(fit, "dev", made), predict(other, "dev", polite)
        assert found.answers == expected.answers != sorted(expected.answers)
        assert found.record.scores["accuracy"] == expected.record.scores["accuracy"]
        shutil.rmtree(found.folder)


def test_two_tasks_of_one_fit_have_their_own_scores(tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[mood(), mood(name="mine/other", metrics=(MATTHEWS,))])
    one, other = (made.planner.plan(made.plugins.tasks.find(name), "", method="majority") for name in ("mood", "other"))
    assert one.id == other.id
    assert predict(one, "dev", made).record.scores.keys() == {"accuracy", "matthews"}
    assert predict(other, "dev", made).record.scores.keys() == {"matthews"}


@pytest.mark.parametrize(("answers", "found"), [(["glad"], "1 answers"), (3, "3 answers")])
def test_a_problem_answers_every_row(answers: Any, found: str, tmp_path: Path) -> None:
    class Short(Classify):
        def decode(self, outputs: Any, table: Any, settings: Any) -> Any:
            return answers

    made = runner(tmp_path, register_tasks=[mood(problem=Short(("glad", "sad")))])
    fit = made.planner.plan(made.plugins.tasks.find("mood"), "", method="majority")
    with pytest.raises(FitError, match=f"The problem of mine/mood decoded {found} to 24 rows"):
        predict(fit, "dev", made)


def test_a_method_predicts_as_many_numbers_as_the_head_has(tmp_path: Path) -> None:
    made, fit = with_method(tmp_path, Moody(answers=np.zeros((24, 3))))
    with pytest.raises(FitError, match="moody gave 3 numbers for each row, where 2 were expected"):
        predict(fit, "dev", made)


def test_a_method_that_cannot_predict_leaves_a_traceback(tmp_path: Path) -> None:
    made, fit = with_method(tmp_path, Moody(answers=ValueError("no idea")))
    trace = made.folder(fit).path / "traceback.txt"
    with pytest.raises(FitError) as raised:
        predict(fit, "dev", made)
    assert str(raised.value).endswith(f" (see {trace})") and "no idea" in trace.read_text()


def test_a_model_that_was_changed_predicts_nothing(tmp_path: Path) -> None:
    """One bit of a weight: nothing else would notice it."""
    made = runner(tmp_path)
    fit = fine_tuned(made)
    weights = made.folder(fit).model / "head.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(DamagedFile, match=r"head\.safetensors: damaged, or edited after it was written"):
        predict(fit, "dev", made)
