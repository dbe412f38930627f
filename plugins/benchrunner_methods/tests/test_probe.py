"""The method `probe` in fits and commands: what it learns, reads, keeps, exports and refuses."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchrunner import CheckpointError, RequestError
from benchrunner.command_line.main import main
from benchrunner.engine import Cache, Job, collate
from benchrunner.results import Computing, Fit, Runner, StudyOptions, cells, discover, planning, predict
from benchrunner.runs.predicting import raw_outputs
from benchrunner_kinds import Span
from benchrunner_kit.testing import TinyBackbone, TinyEncoder
from benchrunner_methods import frozen_states
from benchrunner_methods.probing.probe import UNTRAINED_POOLER
from inline import mood, plugins, runner
from kinds_of_tasks import task_of_kind


def probe(made: Runner, task: str, *, seed: int = 0, **changes: Any) -> Fit:
    method, found = made.plugins.methods.find("probe"), made.plugins.tasks.find(task)
    recipe = found.recipe.changed(**{**method.recipe_defaults, **changes})
    return made.planner.plan(found, "words", method="probe", recipe=recipe, seed=seed)


@pytest.mark.parametrize("kind", ["choose", "tag", "regress", "labels"])
def test_every_kind_but_spans_is_learned(kind: str, tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[task_of_kind(kind)])
    fit = probe(made, kind, features="last" if kind == "tag" else "embeddings")
    record = made.run(fit)
    assert record.status == "done", record.reason
    task = made.plugins.tasks.find(kind)
    rows = made.planner.rows(task, "dev")
    answers, gold = predict(fit, "dev", made).answers, task.problem.gold(rows.table)
    assert gold is not None and len(answers) == len(gold)
    if kind == "regress":
        assert np.corrcoef(answers, gold)[0, 1] > 0.6
        return
    right = [answer == wanted for answer, wanted in zip(answers, gold, strict=True)]
    assert np.mean(right) > 0.75, f"far more than chance: {np.mean(right):.2f}"


def test_answers_are_those_of_scikit_learn_on_the_same_vectors(tmp_path: Path) -> None:
    made = runner(tmp_path)
    task, encoder = made.plugins.tasks.find("mood"), TinyEncoder().eval()
    fit = probe(made, "mood")
    record = made.run(fit)
    inputs = {}
    for split in ("train", "dev"):
        features = task.problem.encode(made.planner.rows(task, split).table, encoder, fit.recipe, training=False)
        means = []
        for unit in range(features.units):  # one sequence at a time, without the method's own code
            states = encoder(collate(features, np.array([unit]), torch.device("cpu")))
            means.append(states.mean(0).detach().numpy())
        inputs[split] = (np.stack(means).astype(float), features.targets["label"])
    strength = next(note for note in record.notes if "cross-validation" in note).split("C = ")[1].split(";")[0]
    model = make_pipeline(StandardScaler(), LogisticRegression(C=float(strength), tol=1e-8)).fit(*inputs["train"])
    outputs = raw_outputs(fit, made.planner.rows(task, "dev"), made)
    expected = model.decision_function(inputs["dev"][0])
    np.testing.assert_allclose(outputs[:, 1] - outputs[:, 0], expected, atol=1e-4)
    assert predict(fit, "dev", made).answers == [
        task.problem.labels[label] for label in model.predict(inputs["dev"][0])
    ]


def test_a_probe_reads_the_cache_and_leaves_the_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = runner(tmp_path)
    fit = probe(made, "mood")
    record = made.run(fit)
    assert record.work["train_tokens"] > 0
    assert record.timings["examples_per_second"] > 0 and record.numerics["versions"]["scikit-learn"]
    (file,) = (tmp_path / "cache" / "states").glob("*/*.npy")
    assert file.name == "layer-01-mean.npy" and np.load(file).shape == (48, 12)
    tensors = load_file(made.folder(fit).model / "head.safetensors")
    assert {name: tensor.shape for name, tensor in tensors.items()} == {"output.weight": (2, 12), "output.bias": (2,)}
    assert {path.suffix for path in made.folder(fit).model.iterdir()} == {".safetensors", ".json"}
    monkeypatch.setattr(frozen_states, "_compute", None)  # another seed computes no states again
    other = probe(made, "mood", seed=1)
    assert other.id != fit.id and made.run(other).status == "done"


def test_a_probe_killed_after_its_states_begins_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchrunner_methods.probing import strength

    unbroken = runner(tmp_path / "unbroken")
    fit = probe(unbroken, "mood")
    unbroken.run(fit)
    broken = runner(tmp_path / "broken")
    with monkeypatch.context() as patch:
        patch.setattr(strength, "fitted", lambda samples, job: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            broken.run(fit)
    monkeypatch.setattr(frozen_states, "_compute", None)
    assert broken.run(fit).status == "done"
    heads = [(made.folder(fit).model / "head.safetensors").read_bytes() for made in (unbroken, broken)]
    assert heads[0] == heads[1]


def test_predicting_needs_no_scikit_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = runner(tmp_path)
    fit = probe(made, "mood")
    made.run(fit)
    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert raw_outputs(fit, made.planner.rows(made.plugins.tasks.find("mood"), "dev"), made).shape == (24, 2)


def test_weighted_sums_of_layers_are_means(tmp_path: Path) -> None:
    from benchrunner_methods.probing import samples

    made = runner(tmp_path)
    task, cache = made.plugins.tasks.find("mood"), Cache(made.workspace.cache)
    table = made.planner.rows(task, "train").table
    parts = {}
    for features in ("embeddings", "last", "weighted-sum-with-embeddings"):
        fit = probe(made, "mood", features=features)
        assert made.run(fit).status == "done"
        folders = (tmp_path, tmp_path, tmp_path)  # of which nothing is read
        job = Job(fit, task.problem, made.workspace, cache, Computing("cpu"), *folders, report=lambda event: None)
        parts[features] = samples.read(TinyEncoder(), job, table).vectors
    mean = (parts["embeddings"] + parts["last"]) / 2
    np.testing.assert_allclose(parts["weighted-sum-with-embeddings"], mean, atol=1e-6)


def test_a_note_says_that_the_pooler_is_untrained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = runner(tmp_path)
    fits = [probe(made, "mood", summary=name, features="last", max_length=length) for name, length in NOTED]
    trained = made.run(fits[0])
    monkeypatch.setattr(TinyEncoder, "fresh_modules", property(lambda encoder: [encoder.dense]))
    records = [trained, *(made.run(fit) for fit in fits[1:])]
    assert [UNTRAINED_POOLER in record.notes for record in records] == [False, True, False]


NOTED = [("pooler", 20), ("pooler", 21), ("mean", 22)]
"""Summary and maximal length of a trained pooler, an untrained pooler, and a mean beside an untrained pooler."""


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("classify", {}, "mean over tokens, layer 1 of 1"),
        ("classify", {"summary": "pooler", "features": "last"}, "encoder's own summary, layer 1 of 1"),
        ("regress", {"features": "weighted-sum-with-embeddings"}, "mean over tokens, layers 0 to 1 of 1 averaged"),
        ("tag", {"features": "embeddings"}, "first piece of each word, layer 0 of 1"),
    ],
)
def test_a_note_says_what_a_probe_read(kind: str, changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[task_of_kind(kind)])
    (note,) = made.run(probe(made, kind, **changes)).notes
    assert note.startswith(f"reads the {words}, and cross-validation chose")


def test_spans_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no linear model for problems of the kind 'span'"):
        plugins().methods.find("probe").check(Span())
    with pytest.raises(RequestError, match="features=embeddings with summary=pooler"):
        probe(runner(tmp_path), "mood", features="embeddings", summary="pooler")


@pytest.mark.parametrize("option", [["--lr", "1e-3"], ["--grid", "paper"]])
def test_options_of_training_steps_are_refused(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runner(tmp_path)
    words = ["run", "mood", "--backbone", "words", "--method", "probe", *option]
    words += ["--runs", str(tmp_path / "runs"), "--data", str(tmp_path / "data")]
    assert main(words, plugins=plugins()) == 2
    error = capsys.readouterr().err
    assert option[0][2:] in error and "is for methods that train in steps" in error


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "Fit with --set features=last summary=pooler."),
        ({"features": "last"}, "Fit with --set summary=pooler."),
        ({"features": "last", "summary": "pooler"}, ""),
    ],
)
def test_a_probe_of_the_encoders_own_summary_is_exported(
    changes: dict[str, Any], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = runner(tmp_path)
    fit = probe(made, "mood", **changes)
    made.run(fit)
    code = main(["runs", "export", fit.id, str(tmp_path / "out"), "--runs", str(tmp_path / "runs")], plugins=plugins())
    assert code == (2 if reason else 0) and reason in capsys.readouterr().err
    if not reason:
        tensors, head = (
            load_file(tmp_path / "out" / "tiny.safetensors"),
            load_file(made.folder(fit).model / "head.safetensors"),
        )
        assert (tensors["head.weight"] == head["output.weight"]).all()


def test_a_probe_refers_to_its_unchanged_encoder(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fit = probe(made, "mood")
    record = made.run(fit)
    model = made.folder(fit).model
    assert sorted(path.name for path in model.iterdir()) == ["backbone.json", "head.json", "head.safetensors"]
    assert set(record.checksums) == {"backbone.json", "head.json", "head.safetensors"}
    values = json.loads((model / "backbone.json").read_text())
    assert values == {"backbone": "words", "revision": fit.revision}


@pytest.mark.parametrize("method", ["probe", "features"])
def test_a_reference_answers_as_a_copy_of_the_encoder_does(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = []
    for folder in (tmp_path / "reference", tmp_path / "copy"):
        if folder.name == "copy":
            monkeypatch.setattr("benchrunner.runs.runner.reference_to", lambda *given: None)
        made = runner(folder)
        task = made.plugins.tasks.find("mood")
        recipe = task.recipe.changed(
            **{**made.plugins.methods.find(method).recipe_defaults, "features": "last", "summary": "mean"}
        )
        fit = made.planner.plan(task, "words", method=method, recipe=recipe, seed=3)
        outputs.append(raw_outputs(fit, made.planner.rows(task, "dev"), made))
        assert (made.folder(fit).model / "backbone.json").exists() == (folder.name == "reference")
    assert np.array_equal(*outputs)


def test_a_probe_whose_backbone_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = runner(tmp_path)
    fit = probe(made, "mood")
    made.run(fit)
    rows = made.planner.rows(made.plugins.tasks.find("mood"), "dev")
    monkeypatch.setattr(TinyBackbone, "revision", lambda self, workspace: "another")
    with pytest.raises(
        CheckpointError, match=r"from the backbone words, which is another one by now.*Put the backbone"
    ):
        raw_outputs(fit, rows, made)
    gone = runner(tmp_path, register_backbones=[])
    with pytest.raises(CheckpointError, match="from the backbone words, which cannot be read: There is no backbone"):
        raw_outputs(fit, rows, gone)


def test_a_probe_of_a_finished_fit_keeps_a_copy(tmp_path: Path) -> None:
    """The weights of a finished fit may be removed while the probe stays."""
    made = runner(tmp_path)
    task = made.plugins.tasks.find("mood")
    first = made.planner.plan(task, "words", recipe=task.recipe.changed(epochs=1))
    made.run(first)
    recipe = task.recipe.changed(**made.plugins.methods.find("probe").recipe_defaults)
    fit = made.planner.plan(task, f"run:{first.id}", method="probe", recipe=recipe)
    made.run(fit)
    assert not (made.folder(fit).model / "backbone.json").exists()
    shutil.rmtree(made.folder(first).model)
    assert len(raw_outputs(fit, made.planner.rows(task, "dev"), made))


def test_training_goes_on_from_the_backbone_of_a_probe(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fit = probe(made, "mood")
    made.run(fit)
    task = made.plugins.tasks.find("mood")
    tuned = [made.planner.plan(task, name, recipe=task.recipe.changed(epochs=1)) for name in (f"run:{fit.id}", "words")]
    first, second = (raw_outputs(each, made.planner.rows(task, "dev"), made) for each in tuned)
    assert np.array_equal(first, second)


@pytest.mark.parametrize(("method", "precision"), [("probe", "fp32"), ("lora", "bf16")])
def test_vectors_of_a_frozen_encoder_are_not_rounded_to_bf16(method: str, precision: str) -> None:
    fitting = cells.Fitting(changes={"precision": "bf16"})
    [recipe], _ = planning.grid_and_seeds(fitting, mood(), discover().methods.find(method))
    assert recipe.precision == precision


def test_a_precision_that_no_fit_reads_is_refused(tmp_path: Path) -> None:
    options = StudyOptions(recipe={"precision": "bf16"}, method=("probe",))
    made = runner(tmp_path)
    with pytest.raises(RequestError, match="The option precision is for methods that train in steps"):
        options.study(["words"], [made.plugins.tasks.find("mood")], Runner(discover(), made.workspace))
