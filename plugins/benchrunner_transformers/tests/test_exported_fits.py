"""From texts to logits: a fit answers what the library computes from its export, with the exported tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import write_model

import benchrunner_transformers
from benchrunner import Recipe, Workspace
from benchrunner.results import Computing, Runner, discover
from benchrunner.runs.predicting import raw_outputs
from benchrunner_runs.exporting import export
from benchrunner_transformers.loading import load
from inline import plugin
from kinds_of_tasks import PROBLEMS, rows_of_kind, task_of_kind

RECIPE = Recipe(epochs=2, batch_size=4, lr=0.03, warmup=0.0, max_length=64, stride=16, context="sentence")
CLASSES = {
    "classify": "SequenceClassification",
    "choose": "MultipleChoice",
    "tag": "TokenClassification",
    "span": "QuestionAnswering",
}
"""Kind of a task -> the class of the library."""


def runner_of(folder: Path, kind: str) -> Runner:
    task = task_of_kind(kind, rows=lambda seed: rows_of_kind(kind, 24, seed), recipe=RECIPE)
    offers = [("tasks", plugin(register_tasks=[task])), ("transformers", benchrunner_transformers)]
    workspace = Workspace(folder / "runs", folder / "cache")
    return Runner(discover(extra=offers, installed=False), workspace, Computing("cpu"))


@torch.no_grad()
def library_outputs(kind: str, folder: Path, table: Any) -> np.ndarray:
    """Compute the raw outputs of all rows with the classes of the library alone; windows of spans are the fit's own."""
    import transformers

    auto = getattr(transformers, f"AutoModelFor{CLASSES[kind]}")
    model, tokenizer = auto.from_pretrained(folder).eval(), transformers.AutoTokenizer.from_pretrained(folder)
    if kind == "classify":
        inputs = [tokenizer(text, return_tensors="pt") for text in table["a"].to_pylist()]
        return np.concatenate([model(**row).logits.numpy() for row in inputs])
    if kind == "choose":
        scores = []
        for first, choices in zip(table["a"].to_pylist(), table["choices"].to_pylist(), strict=True):
            for choice in choices:
                inputs = tokenizer(first, choice, return_tensors="pt")
                scores.append(model(**{name: values[None] for name, values in inputs.items()}).logits.item())
        return np.array(scores).reshape(len(table), -1)
    features = PROBLEMS[kind].encode(table, load(folder, seed=0, encoder_only=False), RECIPE, training=False)
    outputs = []
    for first, last in zip(features.starts[:-1], features.starts[1:], strict=True):
        row = {"input_ids": torch.from_numpy(np.array(features.tokens[first:last], dtype=np.int64))[None]}
        if "token_type_ids" in tokenizer.model_input_names:
            row["token_type_ids"] = torch.from_numpy(np.array(features.segments[first:last], dtype=np.int64))[None]
        result = model(**row)
        logits = [result.start_logits, result.end_logits] if kind == "span" else list(result.logits.unbind(2))
        outputs.append(torch.stack(logits, 2)[0].numpy())
    return PROBLEMS[kind].gather(np.concatenate(outputs), features, table)


SLOW = [
    pytest.param(family, kind, marks=pytest.mark.slow)
    for family in ("albert", "bert", "deberta-v2", "electra", "fnet", "longformer", "modernbert", "xlnet")
    for kind in CLASSES
]


@pytest.mark.parametrize(("family", "kind"), [*(("roberta", kind) for kind in CLASSES), *SLOW])
def test_a_fits_export_computes_the_fits_outputs(family: str, kind: str, tmp_path: Path) -> None:
    write_model(family, tmp_path / "model")
    runner = runner_of(tmp_path, kind)
    task = runner.plugins.tasks.find(f"mine/{kind}")
    fit = runner.planner.plan(task, f"transformers:{tmp_path / 'model'}")
    record = runner.run(fit, weights=True)
    assert record.status == "done", record.reason
    rows = runner.planner.rows(task, "dev")
    outputs = np.asarray(raw_outputs(fit, rows, runner))
    export(fit.id, tmp_path / "out", runner)
    expected = library_outputs(kind, tmp_path / "out", rows.table)
    near = min(1e-5, 1e-2 * float(outputs.std()))
    np.testing.assert_allclose(outputs, expected.reshape(outputs.shape), rtol=1e-5, atol=near)
