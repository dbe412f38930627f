"""From texts to logits: a fit answers what the library computes from its export, with the exported tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import write_model

import benchrunner_transformers
from benchrunner import ACCURACY, Classify, Recipe, RowsFrom, Split, Task, Workspace
from benchrunner.engine import Problem
from benchrunner.results import Computing, Runner, discover
from benchrunner.runs.predicting import raw_outputs
from benchrunner_kinds import Choose, Span, Tag
from benchrunner_runs.exporting import export
from benchrunner_transformers.loading import load
from inline import plugin

CONTEXT = "The old man sat by the river and watched the boats go down to the sea. Nobody knew how long."
FIRST = ["It rained all day.", "The sea was calm, and the boats went down to the river.", "Nobody knew.", "She slept"]
SECOND = ["The dog is asleep.", "It isn't cheap", "Come in, she said, dinner is ready!", "Who bought it?"]
WORDS = [["Anna", "Meier", "flew", "from", "Berlin", "."], ["Nobody", "knew"], ["Zürich", "is", "cold"], ["Yes", "!"]]
RECIPE = Recipe(epochs=2, batch_size=4, lr=0.03, warmup=0.0, max_length=64, stride=16, context="sentence")
COLUMNS: Mapping[str, Mapping[str, Sequence[object]]] = {
    "sentence": {"a": FIRST, "b": SECOND, "label": ["yes", "no", "no", "yes"]},
    "choose": {"a": FIRST, "choices": [SECOND[:2], SECOND[1:3], SECOND[2:], SECOND[::3]], "label": [0, 1, 1, 0]},
    "tag": {"words": WORDS, "labels": [["PER", "PER", "O", "O", "LOC", "O"], ["O"] * 2, ["LOC", "O", "O"], ["O"] * 2]},
    "span": {
        "id": list("abcd"),
        "question": SECOND,
        "context": [CONTEXT] * 4,
        "answers": [["river"], ["boats"], ["Nobody"], ["sea"]],
        "starts": [[CONTEXT.index(word)] for word in ("river", "boats", "Nobody", "sea")],
    },
}
PROBLEMS: Mapping[str, Problem] = {
    "sentence": Classify(("yes", "no")),
    "choose": Choose(2),
    "tag": Tag(("O", "PER", "LOC")),
    "span": Span(),
}


def rows_of(kind: str) -> Callable[[Workspace], Mapping[str, Sequence[object]]]:
    def rows(workspace: Workspace) -> Mapping[str, Sequence[object]]:
        return COLUMNS[kind]

    return rows


def task_of(kind: str) -> Task:
    splits = {role: Split(role, (RowsFrom(rows_of(kind)),)) for role in ("train", "dev")}
    return Task(f"tiny/{kind}", "A few rows.", PROBLEMS[kind], splits, (ACCURACY,), recipe=RECIPE)


def runner_of(folder: Path, kind: str) -> Runner:
    offers = [("tasks", plugin(register_tasks=[task_of(kind)])), ("transformers", benchrunner_transformers)]
    workspace = Workspace(folder / "runs", folder / "cache")
    return Runner(discover(extra=offers, installed=False), workspace, Computing("cpu"))


@torch.no_grad()
def library_outputs(kind: str, folder: Path, table: Any) -> np.ndarray:
    """Compute the raw outputs of all rows with the classes of the library alone; windows of spans are the fit's own."""
    import transformers

    name = {"sentence": "SequenceClassification", "choose": "MultipleChoice", "tag": "TokenClassification"}
    auto = getattr(transformers, f"AutoModelFor{name.get(kind, 'QuestionAnswering')}")
    model, tokenizer = auto.from_pretrained(folder).eval(), transformers.AutoTokenizer.from_pretrained(folder)
    if kind == "sentence":
        inputs = [tokenizer(first, second, return_tensors="pt") for first, second in zip(FIRST, SECOND, strict=True)]
        return np.concatenate([model(**row).logits.numpy() for row in inputs])
    if kind == "choose":
        pairs = [(first, choice) for first, choices in zip(FIRST, table["choices"], strict=True) for choice in choices]
        inputs = [tokenizer(first, str(choice), return_tensors="pt") for first, choice in pairs]
        scores = []
        for row in inputs:
            scores.append(model(**{name: values[None] for name, values in row.items()}).logits.item())
        return np.array(scores).reshape(len(FIRST), -1)
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
    for kind in PROBLEMS
]


@pytest.mark.parametrize(("family", "kind"), [*(("roberta", kind) for kind in PROBLEMS), *SLOW])
def test_a_fits_export_computes_the_fits_outputs(family: str, kind: str, tmp_path: Path) -> None:
    write_model(family, tmp_path / "model")
    runner = runner_of(tmp_path, kind)
    task = runner.plugins.tasks.find(f"tiny/{kind}")
    fit = runner.planner.plan(task, f"transformers:{tmp_path / 'model'}")
    record = runner.run(fit, weights=True)
    assert record.status == "done", record.reason
    rows = runner.planner.rows(task, "dev")
    outputs = np.asarray(raw_outputs(fit, rows, runner))
    export(fit.id, tmp_path / "out", runner)
    expected = library_outputs(kind, tmp_path / "out", rows.table)
    near = min(1e-5, 1e-2 * float(outputs.std()))
    np.testing.assert_allclose(outputs, expected.reshape(outputs.shape), rtol=1e-5, atol=near)
