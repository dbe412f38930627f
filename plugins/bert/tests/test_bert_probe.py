"""The method `probe` on a released BERT: equal to scikit-learn on transformers' vectors, and exported with its head."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from bert_samples import minilm
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from transformers import AutoTokenizer, BertForSequenceClassification, BertModel

import benchrunner_bert
from benchrunner import ACCURACY, Classify, RowsFrom, Split, Task, Workspace
from benchrunner.results import Computing, Fit, Runner, discover, export, predict
from benchrunner.runs.predicting import raw_outputs
from benchrunner_kit.testing import sentences
from inline import METHODS, plugin

ROWS = {"train": 60, "dev": 40}


def mood() -> Task:
    """Return a task over made-up sentences."""
    splits = {
        role: Split(role, (RowsFrom(lambda workspace, count=count, seed=seed: sentences(count, seed=seed)),))  # type: ignore[misc, arg-type]
        for seed, (role, count) in enumerate(ROWS.items())
    }
    return Task("mine/mood", "Glad or sad?", Classify(("glad", "sad")), splits, (ACCURACY,))


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    offers = [("own", plugin(register_tasks=[mood()])), ("bert", benchrunner_bert), METHODS]
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache")
    return Runner(discover(extra=offers, installed=False), workspace, Computing("cpu"))


def fitted(runner: Runner, summary: str, features: str = "last") -> tuple[Fit, float]:
    """Fit a probe and return the value of C that it chose."""
    task = runner.plugins.tasks.find("mood")
    recipe = task.recipe.changed(summary=summary, features=features)
    fit = runner.planner.plan(task, str(minilm()), method="probe", recipe=recipe)
    record = runner.run(fit)
    assert record.status == "done", record.reason
    chosen = next(note for note in record.notes if "cross-validation chose C = " in note)
    return fit, float(chosen.split("C = ")[1].split(";")[0])


def vectors(texts: list[str], summary: str, features: str) -> np.ndarray:
    """Compute the vectors with transformers, in one padded batch."""
    model, tokenizer = BertModel.from_pretrained(minilm()).eval(), AutoTokenizer.from_pretrained(minilm())
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        outputs = model(**inputs, output_hidden_states=True)
    if summary == "pooler":
        return np.asarray(outputs.pooler_output.double().numpy())
    mask, parts = inputs["attention_mask"][..., None], []
    for layer in outputs.hidden_states[-4:] if features == "concat-last-4" else outputs.hidden_states[-1:]:
        if summary == "mean":
            parts.append((layer * mask).sum(1) / mask.sum(1))
        else:
            parts.append(layer.masked_fill(mask == 0, -torch.inf).amax(1))
    return np.asarray(torch.cat(parts, dim=1).double().numpy())


@pytest.mark.parametrize(
    ("summary", "features"),
    [
        ("max", "last"),
        ("mean", "concat-last-4"),
        pytest.param("pooler", "last", marks=pytest.mark.slow),
        pytest.param("mean", "last", marks=pytest.mark.slow),
    ],
)
def test_answers_equal_scikit_learn_on_transformers_vectors(runner: Runner, summary: str, features: str) -> None:
    fit, strength = fitted(runner, summary, features)
    train, dev = (runner.planner.rows(runner.plugins.tasks.find("mood"), split).table for split in ROWS)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, tol=1e-8, max_iter=10_000))
    model.fit(vectors(train.column("a").to_pylist(), summary, features), train.column("label").to_pylist())
    inputs = vectors(dev.column("a").to_pylist(), summary, features)
    assert predict(fit, "dev", runner).answers == model.predict(inputs).tolist()
    outputs = raw_outputs(fit, runner.planner.rows(runner.plugins.tasks.find("mood"), "dev"), runner)
    scores = outputs[:, 1] - outputs[:, 0]  # the decision is the difference of the two logits
    rough = 10 if "concat" in features else 1  # with over 768 inputs, L-BFGS stops before the last digits
    np.testing.assert_allclose(scores, model.decision_function(inputs), rtol=rough * 5e-3, atol=rough * 1e-2)


def test_an_exported_probe_has_equal_logits_in_transformers(runner: Runner, tmp_path: Path) -> None:
    fit, _ = fitted(runner, "pooler")
    export(fit.id, tmp_path / "out", runner)
    model = BertForSequenceClassification.from_pretrained(tmp_path / "out").eval()
    rows = runner.planner.rows(runner.plugins.tasks.find("mood"), "dev")
    inputs = AutoTokenizer.from_pretrained(minilm())(
        rows.table.column("a").to_pylist(), padding=True, return_tensors="pt"
    )
    with torch.no_grad():
        logits = model(**inputs).logits.numpy()
    np.testing.assert_allclose(raw_outputs(fit, rows, runner), logits, atol=1e-4)
