"""A problem that the core does not know: fitted by every method, with thresholds that are lists, and in an ensemble."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from benchrunner import Metric, Recipe, RowsFrom, Split, Task
from benchrunner.backbones.encoder import Encoder
from benchrunner.data.rows import Rows
from benchrunner.errors import FitError, PluginError
from benchrunner.features.arrays import Features
from benchrunner.features.flat_batch import FlatBatch
from benchrunner.problems.problem import HeadShape, Problem
from benchrunner.runs.ensembles import answer
from benchrunner.runs.predicting import decoding_settings, predict, raw_outputs
from benchrunner_kit.testing import check_task, sentences
from inline import runner

pytestmark = pytest.mark.usefixtures("narrow_bilstm")


class Marks(Problem):
    """Two marks that a text may have; a threshold for each mark is tuned on dev."""

    name = "marks"
    label_columns = ("marks",)
    given: Any = None
    """Settings that `tune` returns instead of its own choice."""

    @property
    def decoding(self) -> Mapping[str, Any]:
        return {"thresholds": [0.0, 0.0]}

    @property
    def head(self) -> HeadShape:
        return HeadShape("sequence", 2)

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        return rows.table

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        made = encoder.assemble(table.column("a").to_pylist(), None, recipe.max_length)
        marks = self.gold(table)
        return Features.of(made, targets=None if marks is None else {"marks": np.array(marks, dtype=np.float32)})

    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        loss = torch.nn.functional.binary_cross_entropy_with_logits
        return loss(outputs, batch.targets["marks"], reduction="sum")

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        return (outputs > np.array(settings["thresholds"])).astype(int).tolist()

    def tune(self, outputs: np.ndarray, table: pa.Table, metric: Metric) -> Mapping[str, Any]:
        return self.given or {"thresholds": np.median(outputs, axis=0).astype(float).tolist()}

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(np.mean(np.stack(outputs), axis=0))

    def spell(self, answer: Any) -> str:
        return "".join(map(str, answer))

    def parse(self, text: str) -> list[int]:
        return [int(digit) for digit in text]

    def majority_output(self, table: pa.Table) -> np.ndarray:
        return np.asarray(np.mean(table.column("marks").to_pylist(), axis=0) - 0.5, dtype=np.float32)


def right(gold: Sequence[Any], said: Sequence[Any]) -> float:
    return float(np.mean(np.array(gold) == np.array(said)))


def texts(seed: int) -> RowsFrom:
    made = sentences(40, seed=seed)
    marks = [[int(label == "glad"), int("river" in text)] for text, label in zip(made["a"], made["label"], strict=True)]
    return RowsFrom(lambda workspace: {"a": made["a"], "marks": marks})


def marks(problem: Problem) -> Task:
    splits = {"train": Split("train", (texts(0),)), "dev": Split("dev", (texts(1),))}
    recipe = Recipe(lr=0.02, epochs=2, batch_size=8, max_length=64)
    return Task("mine/marks", "Which marks?", problem, splits, (Metric("right", right),), recipe)


def test_it_keeps_its_contract(tmp_path: Path) -> None:
    check_task(marks(Marks()), tmp_path, workspace=runner(tmp_path).workspace)


class NeedsLabels(Marks):
    """Cannot answer a user's own questions, which have no marks."""

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        assert "marks" in table.column_names, "no marks"
        return super().encode(table, encoder, recipe, training=training)


def test_a_problem_that_cannot_do_without_labels_is_told(tmp_path: Path) -> None:
    reason = r"encode for rows without the label columns \(marks\) failed: AssertionError: no marks"
    with pytest.raises(PluginError, match=reason):
        check_task(marks(NeedsLabels()), tmp_path, workspace=runner(tmp_path).workspace)


@pytest.mark.parametrize("method", ["finetune", "finetune+bilstm", "features", "majority"])
def test_every_method_fits_it_and_several_fits_answer_together(tmp_path: Path, method: str) -> None:
    made = runner(tmp_path, register_tasks=[marks(Marks())])
    task = made.plugins.tasks.find("marks")
    recipe = replace(task.recipe, features="last")
    fits = [made.planner.plan(task, "words", method=method, recipe=recipe, seed=seed) for seed in range(2)]
    for fit in fits:
        predicted = predict(fit, "dev", made)
        assert len(predicted.answers) == 40 and predicted.record.scores["right"].value is not None
    if method != "majority":
        assert any("thresholds [" in note and "chosen on dev" in note for note in predicted.record.notes)
    assert len(answer([fit.id for fit in fits], made, split="dev").answers) == 40


@pytest.mark.parametrize(("select_on", "tuned_on"), [((), ("near", "far")), (("far",), ("far",))])
def test_the_splits_that_select_tune_too(select_on: tuple[str, ...], tuned_on: tuple[str, ...], tmp_path: Path) -> None:
    one_split = marks(Marks())
    splits = {"train": one_split.splits["train"], "near": one_split.splits["dev"], "far": Split("dev", (texts(2),))}
    made = runner(tmp_path, register_tasks=[replace(one_split, splits=splits, select_on=select_on)])
    task = made.plugins.tasks.find("marks")
    fit = made.planner.plan(task, "words")
    outputs = [raw_outputs(fit, made.planner.rows(task, split), made) for split in tuned_on]
    expected = np.median(np.concatenate(outputs), axis=0).astype(float).tolist()
    assert decoding_settings(fit, made) == {"thresholds": expected}


def test_a_setting_that_is_not_json_serializable_is_a_fit_error(tmp_path: Path) -> None:
    problem = Marks()
    problem.given = {"thresholds": np.zeros(2)}
    made = runner(tmp_path, register_tasks=[marks(problem)])
    fit = made.planner.plan(made.plugins.tasks.find("marks"), "", method="majority")
    with pytest.raises(FitError, match="thresholds: JSON has no ndarray"):
        predict(fit, "dev", made)
