"""Batches and contexts of CoNLL-2003: dev F1 after fine-tuning, for each way to fill and to count a batch.

python benchmarks/conll_batches.py --data DIR --out DIR [--backbone bert/novels] [--lr 3e-4] [--cells TEXT,TEXT]

DIR/conll2003 holds eng.train and eng.testa. Fits learn from the first documents of eng.train (--documents) and are
scored on the first documents of eng.testa (--dev-documents). A cell is written as CONTEXT/LENGTH/SIZE-UNIT/DIVISOR, for
example document/512/32-sentences/own-words; --cells chooses the cells whose names contain one of the texts. The script
uses one thread. Results stand in OUT/results.jsonl, so that the same command continues; --show prints the table alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchrunner import Recipe, Task, Workspace
from benchrunner.parameters.recipes import RECIPE_FIELDS
from benchrunner.results import Computing, Runner, discover
from benchrunner.runs.predicting import predict

BORDER = "-DOCSTART-"
WORDS = 464
"""Words of a batch that is counted in words: 32 sentences of 14.5 words, the mean of eng.train."""
SEQUENCES = {128: 10, 512: 3}
"""Length -> sequences that hold about as many words as 32 sentences, if sequences are full."""


@dataclass(frozen=True)
class Way:
    """One way to fill and to count batches."""

    context: str
    length: int
    batch_size: int
    unit: str
    divisor: str

    @property
    def name(self) -> str:
        return f"{self.context}/{self.length}/{self.batch_size}-{self.unit}/{self.divisor}"

    def recipe(self, arguments: argparse.Namespace) -> Recipe:
        return Recipe(
            lr=arguments.lr,
            epochs=arguments.epochs,
            max_length=self.length,
            context=self.context,
            batch_size=self.batch_size,
            batch_unit=self.unit,
            loss_divisor=self.divisor,
        )


def design() -> list[Way]:
    """List all cells.

    In the contexts `sentence` and `window`, a sequence is a sentence. In the context `sentence`, both lengths give the
    same sequences: no sentence of the slice has more than 126 pieces.
    """
    ways = []
    for context in map(str, reversed(RECIPE_FIELDS["context"].choices)):
        for length in (128,) if context == "sentence" else (128, 512):
            counted = [(32, "sentences"), (WORDS, "words")]
            if context == "document":
                counted += [(SEQUENCES[length], "sequences"), (32, "sequences")]
            for batch_size, unit in counted:
                for divisor in ("own-words", "mean-words"):
                    ways.append(Way(context, length, batch_size, unit, divisor))
    return ways


def cut(source: Path, target: Path, documents: int) -> None:
    """Copy the first documents of a column file."""
    text = source.read_text(encoding="utf-8")
    parts = text.removeprefix(BORDER).split(f"\n{BORDER}")
    first = BORDER if text.startswith(BORDER) else ""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(first + f"\n{BORDER}".join(parts[:documents]) + "\n", encoding="utf-8")


def batch_figures(way: Way, runner: Runner, task: Task, backbone: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Count the steps of a fit and the sequences, words and tokens of its batches, with the first seed."""
    from benchrunner.training.schedule import Schedule

    recipe = way.recipe(arguments)
    encoder = runner.planner.backbone(backbone).load(runner.workspace, seed=0)
    features = task.problem.encode(runner.planner.rows(task, "train").table, encoder, recipe, training=True)
    schedule = Schedule(features.batch_counts(way.unit), recipe, seed=arguments.seeds[0])
    batches = [schedule.batch(step) for step in range(schedule.first_steps[1])]
    words = [features.loss_weight(batch) for batch in batches]
    return {
        "steps": schedule.steps,
        "sequences": features.units / len(batches),
        "words": [min(words), statistics.fmean(words), max(words)],
        "tokens": len(features.tokens),
    }


def fitted(way: Way, runner: Runner, task: Task, backbone: str, seed: int, arguments: argparse.Namespace) -> float:
    """Fine-tune once and return F1 on dev, in per cent."""
    fit = runner.planner.plan(task, backbone, recipe=way.recipe(arguments), seed=seed)
    value = predict(fit, "dev", runner).record.scores["f1"].value
    assert value is not None
    return value


def report(results: list[dict[str, Any]]) -> None:
    """Print a table for each backbone and setting, one row for each cell."""
    for system in dict.fromkeys(result["system"] for result in results):
        print(f"\n{system}\n")
        print("| context | length | batch | loss divided by | steps | sequences, words a step (range) | CPU s | F1 |")
        print("|---|---|---|---|---|---|---|---|")
        rows = [result for result in results if result["system"] == system]
        for way in (way for way in design() if any(way.name == row["way"] for row in rows)):
            scores = [row["f1"] for row in rows if row["way"] == way.name]
            batches = next(row["batches"] for row in rows if row["way"] == way.name)
            least, mean, most = batches["words"]
            seconds = statistics.fmean(row["seconds"] for row in rows if row["way"] == way.name)
            spread = f" ± {statistics.stdev(scores):.1f}" if len(scores) > 1 else ""
            print(
                f"| {way.context} | {way.length} | {way.batch_size} {way.unit} | {way.divisor} | {batches['steps']} | "
                f"{batches['sequences']:.1f}, {mean:.0f} ({least}-{most}) | {seconds:.0f} | "
                f"{statistics.fmean(scores):.1f}{spread} ({len(scores)}) |"
            )


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--backbone", default="bert/novels")
    parser.add_argument("--name", help="name of the backbone in the table")
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--dev-documents", type=int, default=60)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seeds", type=lambda text: [int(seed) for seed in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--cells", type=lambda text: text.split(","), default=[""])
    parser.add_argument("--show", action="store_true")
    return parser


def main() -> None:
    arguments = options().parse_args()
    finished = arguments.out / "results.jsonl"
    results = [json.loads(line) for line in finished.read_text().splitlines()] if finished.exists() else []
    if not arguments.show:
        import torch

        torch.set_num_threads(1)
        os.nice(10)
        for name, documents in (("eng.train", arguments.documents), ("eng.testa", arguments.dev_documents)):
            target = arguments.out / f"data-{arguments.documents}-{arguments.dev_documents}" / "conll2003" / name
            cut(arguments.data / "conll2003" / name, target, documents)
        workspace = Workspace(arguments.out / "runs", arguments.out / "cache", data=target.parent.parent)
        runner = Runner(discover(), workspace, Computing("cpu"))
        task = runner.plugins.tasks.find("conll/ner")
        known = {(result["system"], result["way"], result["seed"]) for result in results}
        system = (
            f"{arguments.name or arguments.backbone}: {arguments.documents} documents, {arguments.epochs} epochs, "
            f"learning rate {arguments.lr:g}, F1 on {arguments.dev_documents} documents of dev"
        )
        ways = [way for way in design() if any(text in way.name for text in arguments.cells)]
        for seed in arguments.seeds:
            for way in ways:
                if (system, way.name, seed) in known:
                    continue
                started = time.process_time()
                score = fitted(way, runner, task, arguments.backbone, seed, arguments)
                results.append(
                    {
                        "system": system,
                        "way": way.name,
                        "seed": seed,
                        "f1": score,
                        "seconds": time.process_time() - started,
                        "batches": batch_figures(way, runner, task, arguments.backbone, arguments),
                    }
                )
                with finished.open("a") as file:
                    file.write(json.dumps(results[-1]) + "\n")
    report(results)


if __name__ == "__main__":
    main()
