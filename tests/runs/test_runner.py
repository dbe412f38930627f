"""From a fit to its record: reuse, failure, retry, observers, weights that are gone, fits that start from fits."""

import json
import os
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forked
import inline
from benchrunner import MATTHEWS, Classify, Metric, Score, Workspace
from benchrunner.backbones.backbone import OneBackbone
from benchrunner.engine import Job, Method, Outcome
from benchrunner.errors import CheckpointError, DamagedFile, FitError, RequestError
from benchrunner.results import Computing, Executor, Fit, Runner, compared, discover, run_study
from benchrunner.runs.predicting import predict
from benchrunner_kit.testing import TinyBackbone, tiny_family
from benchrunner_runs.exporting import export
from benchrunner_submit import answer_file
from benchrunner_submit.own_questions.answer_texts import AnswerTexts
from inline import QUICK, files, mood, own, plugin, runner


@dataclass
class Moody(Method):
    """Does what it is told, and counts."""

    endings: list[Any] = field(default_factory=list)
    """What `fit` returns or raises, one after another; then it is done."""
    answers: Any = None
    """What `predict` returns or raises; without it the first label everywhere."""
    fitted: int = 0
    name = "moody"
    about = "for tests"
    needs_backbone = False

    def fit(self, job: Job) -> Outcome:
        self.fitted += 1
        ending = self.endings.pop(0) if self.endings else Outcome()
        if isinstance(ending, BaseException):
            raise ending
        job.model.mkdir(parents=True, exist_ok=True)
        assert isinstance(ending, Outcome)
        return ending

    def predict(self, job: Job, table: Any) -> np.ndarray:
        if isinstance(self.answers, BaseException):
            raise self.answers
        return np.tile([1.0, 0.0], (table.num_rows, 1)) if self.answers is None else self.answers


def with_method(folder: Path, method: Method, **observers: Any) -> tuple[Runner, Fit]:
    made = runner(folder, register_methods=[method], **observers)
    return made, made.planner.plan(made.plugins.tasks.find("mood"), "", method=method.name)


def fine_tuned(made: Runner, **changes: Any) -> Fit:
    fit = made.planner.plan(made.plugins.tasks.find("mood"), "words", recipe=QUICK.changed(**changes))
    assert made.run(fit).status == "done"
    return fit


def test_a_finished_fit_is_read_and_not_run_again(tmp_path: Path) -> None:
    made, fit = with_method(tmp_path, method := Moody())
    assert made.run(fit) == made.run(fit) == with_method(tmp_path, Moody())[0].run(fit)
    assert method.fitted == 1


def test_a_diverged_fit_is_not_run_again_and_has_no_answers(tmp_path: Path) -> None:
    made, fit = with_method(tmp_path, method := Moody([Outcome("diverged", "the loss was nan")]))
    assert [made.run(fit).status for _ in range(2)] == ["diverged"] * 2
    assert method.fitted == 1
    with pytest.raises(FitError, match="has no answers: the loss was nan"):
        predict(fit, "dev", made)


def test_a_failed_fit_says_why_and_is_tried_again(tmp_path: Path) -> None:
    made, fit = with_method(tmp_path, method := Moody([ValueError("not today"), FitError("out of memory")]))
    record, place = made.run(fit), made.folder(fit).path / "traceback.txt"
    assert (record.status, record.reason) == ("failed", f"ValueError: not today (see {place})")
    assert "Traceback" in place.read_text()
    assert made.run(fit).reason == "out of memory"
    assert made.run(fit).status == "done" and not place.exists()
    assert method.fitted == 3


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


def test_only_a_finished_fit_loses_its_checkpoint(tmp_path: Path) -> None:
    """A process may be killed after it wrote the record, and before it removed the checkpoint."""
    made, fit = with_method(tmp_path, Moody())
    made.run(fit)
    folder = made.folder(fit)
    folder.checkpoint.mkdir()
    predict(fit, "dev", made)
    assert not folder.checkpoint.exists()
    folder.checkpoint.mkdir()
    (folder.path / "record.json").unlink()
    folder.sweep()
    assert folder.checkpoint.exists()


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
    with pytest.raises(RequestError, match="the training data of mine/mood changed since this fit was planned"):
        made.run(fit)


def test_the_record_is_on_disk_before_observers_are_told(tmp_path: Path) -> None:
    seen: list[Any] = []

    def after_fit(fit: Fit, record: Any) -> None:
        seen.append(json.loads((tmp_path / "runs" / fit.id / "record.json").read_text())["status"])

    def on_fit_error(fit: Fit, error: Exception) -> None:
        after_fit(fit, None)
        seen.append(str(error))

    method = Moody([ValueError("not today")])
    made, fit = with_method(tmp_path, method, after_fit=after_fit, on_fit_error=on_fit_error)
    made.run(fit), made.run(fit), made.run(fit)
    assert seen == ["failed", "not today", "done"], "a record that is only read is no news"


@pytest.mark.parametrize("error", [ValueError("sulking"), SystemExit(4), GeneratorExit("x")])
def test_a_failing_observer_is_reported_once_and_stops_nothing(
    error: BaseException, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> None:
        raise error

    def before_fit(fit: Fit) -> None:
        fail()

    def on_progress(fit: Fit, event: Any) -> None:
        fail()

    def after_fit(record: Any) -> None:  # an observer takes what it wants
        fail()

    made = runner(tmp_path)
    told: list[str] = []
    others = [
        ("bad", plugin(before_fit=before_fit, on_progress=on_progress, after_fit=after_fit)),
        ("good", plugin(after_fit=lambda fit: told.append(fit.id))),
    ]
    made = Runner(discover(extra=[("own", own()), *others], installed=False), made.workspace)
    fit = fine_tuned(made)
    assert told == [fit.id]
    said = capsys.readouterr().err.splitlines()
    name = type(error).__name__
    assert [line.rpartition(" (")[0] for line in said] == [
        f"The observer {hook} of plugin 'bad' failed: {name}: {error}"
        for hook in ("before_fit", "on_progress", "after_fit")
    ]


def test_an_observer_that_refuses_too_late_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def after_fit(fit: Fit) -> None:
        raise RequestError("no room")

    made, fit = with_method(tmp_path, Moody(), after_fit=after_fit)
    assert made.run(fit).status == "done"
    assert capsys.readouterr().err == "The observer after_fit of plugin 'own' failed: RequestError: no room\n"


def test_observers_and_executors_get_copies_of_lists(tmp_path: Path) -> None:
    def before_study(fits: list[Fit]) -> None:
        fits[0].suppliers.clear()  # type: ignore[attr-defined]
        fits.clear()

    class Greedy(Executor):
        name, about = "greedy", "takes the fits from its list"

        def run(self, fits: Any, runner: Any) -> Any:
            while fits:
                yield fits[0], runner.run(fits.pop(0))

    made = runner(tmp_path, before_study=before_study)
    study = compared(("words",), [made.plugins.tasks.find("mood")], seeds=(0, 1), changes={"limit_train": 8})
    (cell,) = run_study(study, made, executor=Greedy()).cells
    assert len(cell.restarts) == 2
    assert all(fit.suppliers for fit in cell.restarts)


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


def test_deleted_weights_are_refitted_identically_when_needed(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fit = fine_tuned(made)
    weights = (made.folder(fit).model / "tiny.safetensors").read_bytes()
    dev = predict(fit, "dev", made)
    made.forget_weights(fit)
    assert made.run(fit).status == "done" and not made.folder(fit).model.exists()
    assert predict(fit, "dev", made) == dev, "what is predicted needs no weights"
    assert not made.folder(fit).model.exists()
    predict(fit, "test", made)
    assert (made.folder(fit).model / "tiny.safetensors").read_bytes() == weights


def test_a_fit_of_other_code_is_not_run_under_its_name(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fit = made.planner.plan(made.plugins.tasks.find("mood"), "words", recipe=QUICK)
    older = replace(fit, suppliers={**fit.suppliers, "core (benchrunner)": "0.0.1"})
    with pytest.raises(
        RequestError, match=rf"The fit {older.id} was planned with core .* 0.0.1, .*; installed is core"
    ):
        made.run(older)
    assert made.folder(older).record() is None


def test_two_tasks_of_one_fit_have_their_own_scores(tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[mood(), mood(name="mine/other", metrics=(MATTHEWS,))])
    one, other = (made.planner.plan(made.plugins.tasks.find(name), "", method="majority") for name in ("mood", "other"))
    assert one.id == other.id
    assert predict(one, "dev", made).record.scores.keys() == {"accuracy", "matthews"}
    assert predict(other, "dev", made).record.scores.keys() == {"matthews"}


def test_equal_ids_need_equal_problem_method_and_metric(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Weighted(Classify):  # type: ignore[misc]
        weight: float = 1.0
        shown: str = ""
        decoding_fields = ("shown",)

    @dataclass(frozen=True)
    class Constant(Method):
        name: str = "moody"
        about: str = "for tests"
        needs_backbone: bool = False
        label: int = 0

        def fit(self, job: Job) -> Outcome:
            job.model.mkdir(parents=True)
            return Outcome()

        def predict(self, job: Job, table: Any) -> np.ndarray:
            return np.tile([1.0, 0.0], (table.num_rows, 1))

    def beta(value: float) -> Metric:
        return Metric("beta", lambda gold, predicted: value)

    def ids(problem: Any, method: Method, metric: Metric) -> tuple[str, str]:
        task = mood(problem=problem, metrics=(metric,), method="moody")
        made = runner(tmp_path, register_tasks=[task], register_methods=[method])
        fit = made.planner.plan(task, "")
        return fit.id, predict(fit, "dev", made).record.id

    labels = ("glad", "sad")
    usual = ids(Weighted(labels), Constant(), beta(1))
    assert usual == ids(Weighted(labels), Constant(), beta(1))
    for problem, method in ((Weighted(labels, weight=2.0), Constant()), (Weighted(labels), Constant(label=1))):
        assert ids(problem, method, beta(1))[0] != usual[0]
    for problem, metric in ((Weighted(labels, shown="yes"), beta(1)), (Weighted(labels), beta(2))):
        fit, prediction = ids(problem, Constant(), metric)
        assert fit == usual[0] and prediction != usual[1]


def test_a_fit_of_another_problem_is_not_run_under_its_name(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fit = made.planner.plan(made.plugins.tasks.find("mood"), "", method="majority")
    other = runner(tmp_path, register_tasks=[mood(problem=Classify(("glad", "sad", "calm")))])
    with pytest.raises(RequestError, match="other fields than when this fit was planned"):
        other.run(fit)


def test_a_fit_is_a_backbone_with_its_head_for_equal_problems(tmp_path: Path) -> None:
    other = Classify(("sad", "glad"))
    made = runner(tmp_path, register_tasks=[mood(), mood(name="mine/again"), mood(name="mine/other", problem=other)])
    first = fine_tuned(made)
    stages = {}
    for name in ("again", "other"):
        fit = made.planner.plan(made.plugins.tasks.find(name), f"run:{first.id[:8]}", recipe=QUICK.changed(lr=0.0))
        assert fit.revision == f"run:{first.id}"
        stages[name] = made.run(fit).notes
        assert predict(fit, "dev", made).record.scores.keys() == {"accuracy", "matthews"}
    assert any("the head goes on" in note for note in stages["again"])
    assert not any("the head goes on" in note for note in stages["other"])
    again = made.planner.plan(made.plugins.tasks.find("again"), f"run:{first.id}", recipe=QUICK.changed(lr=0.0))
    assert predict(again, "dev", made).answers == predict(first, "dev", made).answers, "lr 0 changes nothing"
    assert again.suppliers == first.suppliers, "the code that loads the encoder has a part in this fit as well"


def test_layers_that_a_backbone_lacks_are_not_redrawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = runner(tmp_path)
    task, fit, recipe = made.plugins.tasks.find("mood"), fine_tuned(made), QUICK.changed(redraw_layers=3)
    for name in ("words", f"run:{fit.id}"):
        with pytest.raises(RequestError, match="redraw-layers 3 is more layers than this encoder has, 1"):
            made.planner.plan(task, name, recipe=recipe)
    monkeypatch.setattr(TinyBackbone, "layer_count", lambda backbone, workspace: None)  # unknown before it is loaded
    assert Runner(made.plugins, made.workspace).planner.plan(task, "words", recipe=recipe).recipe.redraw_layers == 3


def test_what_cannot_be_started_from_says_why(tmp_path: Path) -> None:
    made, fit = with_method(tmp_path, Moody([ValueError("not today")]))
    task = made.plugins.tasks.find("mood")
    made.run(fit)
    with pytest.raises(RequestError, match=rf"{fit.id} .* because it failed .ValueError: not today"):
        made.planner.plan(task, f"run:{fit.id}")
    made.run(fit)
    with pytest.raises(RequestError, match="its method 'moody' has no encoder"):
        made.planner.plan(task, f"run:{fit.id}")
    tuned = fine_tuned(made)
    made.forget_weights(tuned)
    with pytest.raises(CheckpointError, match=r"were not kept. Repeat the command that fitted it with --keep all"):
        made.planner.plan(task, f"run:{tuned.id}")
    with pytest.raises(RequestError, match="There is no run 'zzz'"):
        made.planner.plan(task, "run:zzz")
    (made.folder(tuned).path / "record.json").unlink()
    with pytest.raises(RequestError, match="because it is not finished"):
        made.planner.plan(task, f"run:{tuned.id}")


def test_an_unusable_device_is_refused_before_recording_anything(tmp_path: Path) -> None:
    files(1, tmp_path / "data")
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", data=tmp_path / "data")
    made = Runner(discover(extra=[("own", own())], installed=False), workspace, Computing("nonsense"))
    fit = made.planner.plan(made.plugins.tasks.find("mood"), "words", recipe=QUICK)
    with pytest.raises(RequestError, match="Device 'nonsense' cannot be used"):
        made.run(fit)
    assert made.folder(fit).record() is None


def test_a_users_own_file_is_answered_in_its_order(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fit = fine_tuned(made, epochs=12, lr=0.05)
    texts = ["the bleak day", "a sunny walk", "gloomy by the river"]
    (tmp_path / "mine.txt").write_text("\n".join(texts) + "\n")
    (tmp_path / "mine.tsv").write_text("id\ttext\n" + "".join(f"7\t{text}\n" for text in texts))
    (tmp_path / "mine.csv").write_text('"id","a"\n' + "".join(f'7,"{text}"\n' for text in texts))
    for name in ("mine.txt", "mine.tsv", "mine.csv"):
        answered = answer_file([fit.id], made, tmp_path / name)
        assert answered.answers == ["sad", "glad", "sad"], name
        assert "".join(AnswerTexts(answered).lines()) == "index\tprediction\n0\tsad\n1\tglad\n2\tsad\n"
        assert "probabilities" not in AnswerTexts(answered).as_json()
    assert answer_file([str(made.folder(fit).path)], made, tmp_path / "mine.txt").answers == ["sad", "glad", "sad"]


def test_export_uses_the_backbone_layout_and_never_overwrites(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fit = fine_tuned(made)
    export(fit.id, tmp_path / "out", made)
    backbone, _ = made.plugins.backbone_search.find(str(tmp_path / "out"), made.workspace)
    assert backbone.load(made.workspace, seed=0).hidden_size == 12
    with pytest.raises(RequestError, match="out exists already"):
        export(fit.id, tmp_path / "out", made)
    baseline = made.planner.plan(made.plugins.tasks.find("mood"), "", method="majority")
    made.run(baseline)
    with pytest.raises(RequestError, match="method 'majority' leaves no model"):
        export(baseline.id, tmp_path / "other", made)


class Converting(OneBackbone):  # type: ignore[misc]
    """Knows trainers' folders with a file `known`; a file `odd` makes it fail, and a file `half` makes it refuse."""

    def convert(self, source: Path, target: Path) -> bool:
        if (source / "odd").exists():
            raise ValueError("what is this?")
        if (source / "half").exists():
            raise CheckpointError(f"{source}: its last file is missing.")
        if (source / "known").exists():
            target.mkdir()
            self.backbone.load(Workspace(source, source), seed=0).save(target)
        return (source / "known").exists()


def test_the_family_that_knows_a_trainers_folder_exports_it(tmp_path: Path) -> None:
    tiny = tiny_family("other/words")
    made = runner(tmp_path, register_backbones=[Converting(tiny.backbone, tiny.saved)])
    source = tmp_path / "trainer"
    source.mkdir()
    for file, reason in (
        ("", "trainer is neither a finished fit .it has no fit.json. nor a trainer's checkpoint"),
        ("odd", "The plugin 'own' failed on .*trainer: ValueError: what is this"),
        ("half", "trainer: its last file is missing"),
    ):
        (source / (file or "unknown")).touch()
        with pytest.raises(CheckpointError, match=reason):
            export(str(source), tmp_path / "out", made)
        (source / (file or "unknown")).unlink()
    (source / "known").touch()
    export(str(source), tmp_path / "out", made)
    assert made.plugins.backbone_search.find(str(tmp_path / "out"), made.workspace)[0].name == str(tmp_path / "out")


@pytest.mark.parametrize(("answers", "found"), [(["glad"], "1 answers"), (3, "3")])
def test_a_problem_answers_every_row(answers: Any, found: str, tmp_path: Path) -> None:
    class Short(Classify):
        def decode(self, outputs: Any, table: Any, settings: Any) -> Any:
            return answers

    made = runner(tmp_path, register_tasks=[mood(problem=Short(("glad", "sad")))])
    fit = made.planner.plan(made.plugins.tasks.find("mood"), "", method="majority")
    with pytest.raises(FitError, match=f"The problem of mine/mood decoded {found}, where 24 rows want an answer each"):
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
    assert str(raised.value) == f"ValueError: no idea (see {trace})" and "no idea" in trace.read_text()


TWO = """
import os, sys, time
from pathlib import Path
from benchrunner import Workspace
from benchrunner.engine import Outcome
from benchrunner.results import Runner, predict
from benchrunner.methods.majority import Majority
from inline import plugins

home = Path(sys.argv[1])

def wait_for(name):
    while not (home / name).exists():
        time.sleep(0.01)

def report(fit, event):
    print(event.kind, flush=True)
    (home / event.kind).touch()

class Slow(Majority.__base__):
    name, about, needs_backbone = "slow", "for a test", False
    predict = Majority.predict

    def fit(self, job):
        print("fitting", flush=True)
        wait_for("waiting")  # until the other process waits for this fit
        return Majority.fit(self, job)

workspace = Workspace(home / "runs", home / "cache", data=home / "data")
made = Runner(plugins(register_backbones=[], register_methods=[Slow()]), workspace, report=report)
fit = made.planner.plan(made.plugins.tasks.find("mood"), "", method="slow")
print(made.run(fit).status, predict(fit, "dev", made).answers[0], flush=True)
"""


def test_two_processes_wanting_one_fit_run_it_once(tmp_path: Path) -> None:
    files(1, tmp_path / "data")
    path = {**os.environ, "PYTHONPATH": str(Path(inline.__file__).parent)}
    processes = [forked.Process(["-c", TWO, str(tmp_path)], env=path) for _ in range(2)]
    outputs = [process.communicate()[0].split() for process in processes]
    assert sorted(output[0] for output in outputs) == ["fitting", "waiting"]
    assert [output.count("fitting") for output in sorted(outputs)] == [1, 0]
    # either may also wait for a prediction that the other makes
    assert [output[-2:] for output in outputs] == [["done", "sad"]] * 2


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
