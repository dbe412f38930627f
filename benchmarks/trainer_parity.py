"""Dev scores after fine-tuning with the recipe's dropout, ours beside transformers' Trainer: are the differences noise?

    python benchmarks/trainer_parity.py --data DIR --out FOLDER [--precision bf16] [--seeds 0,1,2]
    [--tasks glue/cola,glue/rte]

Same weights, rows, recipe (see peer_trainer.py; 3 epochs) and length 128; other draws of order, head and dropout.
FOLDER keeps what is finished, so that the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from typing import Any

import peer_trainer

from benchrunner import Recipe
from benchrunner.runs.predicting import predict

TASKS = {
    "glue/rte": "accuracy",
    "glue/mrpc": "f1",
    "glue/stsb": "spearman",
    "glue/cola": "matthews",
}
"""Each with its headline on dev."""


def ours(task: str, seed: int, arguments: argparse.Namespace) -> float:
    runner = peer_trainer.runner(arguments)
    recipe = Recipe(lr=5e-5, precision=arguments.precision, schedule="after-warmup")
    fit = runner.planner.plan(runner.plugins.tasks.find(task), str(arguments.model), recipe=recipe, seed=seed)
    value = predict(fit, "dev", runner).record.scores[TASKS[task]].value
    assert value is not None
    return value


def trainer(task: str, seed: int, arguments: argparse.Namespace) -> float:
    from transformers import AutoTokenizer, BertForSequenceClassification

    runner = peer_trainer.runner(arguments)
    row = runner.plugins.tasks.find(task)
    names = list(getattr(row.problem, "labels", ()))
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)

    def encoded(split: str) -> tuple[list[dict[str, Any]], list[Any]]:
        table = runner.planner.rows(row, split).table
        second = table.column("b").to_pylist() if "b" in table.column_names else None
        found = tokenizer(table.column("a").to_pylist(), second, truncation=True, max_length=128)
        gold = table.column("label").to_pylist()
        numbers = [names.index(one) if names else one for one in gold]
        rows = []
        for place, number in enumerate(numbers):
            inputs = {name: found[name][place] for name in ("input_ids", "token_type_ids", "attention_mask")}
            rows.append({**inputs, "label": number})
        return rows, gold

    train, (dev, gold) = encoded("train")[0], encoded("dev")
    loop = peer_trainer.trained(
        lambda: BertForSequenceClassification.from_pretrained(arguments.model, num_labels=len(names) or 1),
        tokenizer,
        train,
        arguments,
        seed=seed,
        epochs=3,
        precision=arguments.precision,
    )
    outputs = loop.predict(dev).predictions
    answers = [names[one] for one in outputs.argmax(-1)] if names else [float(one) for one in outputs[:, 0]]
    metric = next(one for one in row.metrics if one.name == TASKS[task])
    value = metric.score(gold, answers).value
    assert value is not None
    return value


def report(results: list[dict[str, Any]]) -> None:
    print("| task | metric | ours: mean (deviation) | Trainer: mean (deviation) | difference | its standard error |")
    print("|---|---|---|---|---|---|")
    for task, metric in TASKS.items():
        sides = [
            [100 * one["score"] for one in results if (one["task"], one["side"]) == (task, side)]
            for side in ("ours", "trainer")
        ]
        if any(len(values) < 2 for values in sides):
            continue
        means = [statistics.fmean(values) for values in sides]
        deviations = [statistics.stdev(values) for values in sides]
        error = math.sqrt(sum(one**2 / len(values) for one, values in zip(deviations, sides, strict=True)))
        figures = [f"{mean:.2f} ({deviation:.2f})" for mean, deviation in zip(means, deviations, strict=True)]
        print(f"| {task} | {metric} | {figures[0]} | {figures[1]} | {means[0] - means[1]:+.2f} | {error:.2f} |")


def main() -> None:
    parser = peer_trainer.options(__doc__.splitlines()[0], seeds=[0, 1, 2])
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--tasks", type=lambda text: text.split(","), default=list(TASKS), help="only these")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    finished = arguments.out / "results.jsonl"
    results = [json.loads(line) for line in finished.read_text().splitlines()] if finished.exists() else []
    known = {(one["side"], one["task"], one["seed"], one["precision"]) for one in results}
    for seed in arguments.seeds:
        for task in arguments.tasks:
            for side, run in (("ours", ours), ("trainer", trainer)):
                key = (side, task, seed, arguments.precision)
                if key in known or arguments.side not in (None, side):
                    continue
                score = run(task, seed, arguments)
                results.append(dict(zip(("side", "task", "seed", "precision"), key, strict=True), score=score))
                with finished.open("a") as file:
                    file.write(json.dumps(results[-1]) + "\n")
    report([one for one in results if one["precision"] == arguments.precision])


if __name__ == "__main__":
    main()
