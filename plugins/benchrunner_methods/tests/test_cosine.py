"""The method `cosine`, and a probe that reads the texts of a pair apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchrunner import Recipe, Regress, RequestError, RowsFrom, Split, Task
from benchrunner.engine import collate
from benchrunner.results import Runner
from benchrunner.runs.predicting import raw_outputs
from benchrunner_kit.testing import TinyEncoder, check_method, sentences
from benchrunner_methods.cosine import Cosine
from benchrunner_runs.exporting import export
from benchrunner_tasks import PEARSON
from inline import runner
from kinds_of_tasks import task_of_kind

NEAR = Regress(0, 5)


def pairs(count: int, *, seed: int) -> dict[str, list[object]]:
    """Pairs of sentences, which are near (5) if they have one mood, else far (0)."""
    first, second = sentences(count, seed=seed), sentences(count, seed=seed + 100)
    near = [5.0 * (a == b) for a, b in zip(first["label"], second["label"], strict=True)]
    return {"a": first["a"], "b": second["a"], "label": near}


def made_with(folder: Path) -> tuple[Runner, Task]:
    splits = {
        role: Split(role, (RowsFrom(lambda workspace, seed=seed: pairs(60, seed=seed)),))  # type: ignore[misc, arg-type]
        for seed, role in enumerate(("train", "dev"))
    }
    task = Task("mine/near", "Are two texts of one mood?", NEAR, splits, (PEARSON,))
    return runner(folder, register_tasks=[task]), task


def means(table: pa.Table, column: str) -> np.ndarray:
    """Compute the mean state of each text, one text at a time, with the length 1."""
    encoder = TinyEncoder().eval()
    vectors = []
    for text in table.column(column).to_pylist():
        features = NEAR.encode(pa.table({"a": [text]}), encoder, Recipe(), training=False)
        mean = encoder(collate(features, np.array([0]), torch.device("cpu"))).mean(0).detach().numpy()
        vectors.append(mean / np.linalg.norm(mean))
    return np.stack(vectors)


def test_outputs_are_cosines_on_the_scale_of_the_task(tmp_path: Path) -> None:
    made, task = made_with(tmp_path)
    fit = made.planner.plan(task, "words", method="cosine")
    record = made.run(fit)
    assert record.status == "done", record.reason
    assert record.notes[-1] == "reads the mean over tokens of each text"
    table = made.planner.rows(task, "dev").table
    cosines = (means(table, "a") * means(table, "b")).sum(1)
    np.testing.assert_allclose(raw_outputs(fit, made.planner.rows(task, "dev"), made)[:, 0], 2.5 * (cosines + 1), 1e-4)
    other = made.planner.plan(task, "words", method="cosine", seed=1, recipe=task.recipe.changed(summary="max"))
    assert made.run(other).notes[-1] == "reads the maximum over tokens of each text"


def test_cosine_keeps_the_contract_of_a_method(tmp_path: Path) -> None:
    check_method(Cosine(), tmp_path, problem=NEAR, columns=pairs(16, seed=3))


def test_what_has_no_two_texts_or_no_number_is_refused(tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[task_of_kind("regress"), task_of_kind("classify")])
    with pytest.raises(RequestError, match="not for the kind 'classify'"):
        made.planner.plan(made.plugins.tasks.find("classify"), "words", method="cosine")
    record = made.run(made.planner.plan(made.plugins.tasks.find("regress"), "words", method="cosine"))
    assert (record.status, "The rows have one text" in record.reason) == ("failed", True)


def test_a_probe_may_read_the_texts_apart(tmp_path: Path) -> None:
    made, task = made_with(tmp_path)
    recipe = task.recipe.changed(summary="mean", features="last", **{"probe.pairs": "apart"})
    fit = made.planner.plan(task, "words", method="probe", recipe=recipe)
    record = made.run(fit)
    assert record.status == "done", record.reason
    note = next(note for note in record.notes if "of each text alone" in note)
    rows = {split: made.planner.rows(task, split).table for split in ("train", "dev")}
    inputs = {}
    for split, table in rows.items():
        u, v = means(table, "a"), means(table, "b")
        inputs[split] = np.concatenate([abs(u - v), u * v], axis=1).astype(float)
    model = make_pipeline(StandardScaler(), Ridge(alpha=float(note.split("alpha = ")[1].split(";")[0])))
    model.fit(inputs["train"], rows["train"].column("label").to_pylist())
    outputs = raw_outputs(fit, made.planner.rows(task, "dev"), made)
    np.testing.assert_allclose(outputs[:, 0], model.predict(inputs["dev"]), atol=1e-3)
    with pytest.raises(RequestError, match=r"summary=pooler probe\.pairs=together"):
        export(fit.id, tmp_path / "out", made)
