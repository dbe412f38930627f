"""Rows a second that a fitted model predicts, beside `predict` of transformers' Trainer, on one pinned core.

taskset -c 1 python benchmarks/evaluation_speed.py --data DIR [--model DIR] [--tasks cola,sst2]
    [--precision bf16] [--quick]

Both sides predict the same rows of dev with the same weights in one process, by turns. The seconds are those of the
processor, and the table has medians. The Trainer predicts batches of 32 rows in the order of the file (`trainer`) and
sorted by length (`trainer, sorted`). Reading and encoding the rows is left out on both sides. The last column is the
largest difference between the logits of a side and ours.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from measured_tasks import SENTENCES, default_model, existing_folder, task_names
from peer_tasks import BATCH

from benchrunner.fits.computing import Computing


def sides(task_name: str, arguments: argparse.Namespace) -> dict[str, Callable[[], Any]]:
    """Return the systems: each predicts all rows and returns the logits in their order."""
    import numpy as np
    import torch
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
    )

    from benchrunner import Recipe, Workspace
    from benchrunner.methods.heads import LinearHead
    from benchrunner.results import Runner, discover
    from benchrunner.training.inference import Inference

    runner = Runner(discover(), Workspace(Path("runs"), Path("cache"), data=arguments.data), Computing("cpu"))
    task = runner.plugins.tasks.find(task_name)
    split = task.named("dev")[0]
    table = runner.planner.rows(task, split).table.slice(0, arguments.rows)
    encoder = runner.planner.backbone(str(arguments.model)).load(runner.workspace, seed=0).eval()
    head = LinearHead(encoder.hidden_size, task.problem.head, seed=0).eval()
    features = task.problem.encode(table, encoder, Recipe(), training=False)

    classifier = AutoModelForSequenceClassification.from_pretrained(arguments.model, num_labels=task.problem.head.width)
    with torch.no_grad():
        for ours, theirs in zip(head.parameters(), classifier.classifier.parameters(), strict=True):
            theirs.copy_(ours)
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    second = table.column("b").to_pylist() if "b" in table.column_names else None
    inputs = tokenizer(table.column("a").to_pylist(), second, truncation=True, max_length=128)
    rows = [{key: inputs[key][at] for key in inputs} for at in range(table.num_rows)]
    order = np.argsort([-len(row["input_ids"]) for row in rows], kind="stable")
    settings = TrainingArguments(
        output_dir="unused",
        per_device_eval_batch_size=BATCH,
        bf16=arguments.precision == "bf16",
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
    )
    trainer = Trainer(
        classifier, settings, data_collator=DataCollatorWithPadding(tokenizer), processing_class=tokenizer
    )

    def own() -> Any:
        inference = Inference(
            torch.device("cpu"), arguments.precision, Recipe().micro_tokens, kernels=runner.plugins.kernels
        )
        return inference.predict(lambda batch: head(encoder, batch), features, head.level)

    def sorted_rows() -> Any:
        predictions = trainer.predict([rows[at] for at in order]).predictions
        return predictions[np.argsort(order)]

    return {"ours": own, "trainer": lambda: trainer.predict(rows).predictions, "trainer, sorted": sorted_rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=existing_folder, required=True)
    parser.add_argument("--model", type=existing_folder, default=default_model())
    parser.add_argument(
        "--tasks", type=partial(task_names, problems=SENTENCES), default=["glue/cola", "glue/sst2", "glue/rte"]
    )
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1000, help="rows of dev that are predicted")
    parser.add_argument("--quick", action="store_true", help="300 rows and 3 turns")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rows, arguments.repeats = 300, 3
    for task in arguments.tasks:
        systems = sides(task, arguments)
        seconds: dict[str, list[float]] = {name: [] for name in systems}
        logits = {name: predict() for name, predict in systems.items()}
        for _ in range(arguments.repeats):
            for name, predict in systems.items():
                started = time.process_time()
                predict()
                seconds[name].append(time.process_time() - started)
        ours = statistics.median(seconds["ours"])
        for name, values in seconds.items():
            difference = abs(logits[name] - logits["ours"]).max()
            rate, ratio = len(logits[name]) / statistics.median(values), statistics.median(values) / ours
            print(
                f"{task:<9} {name:<16} {rate:8.0f} rows a second   ours is {ratio:5.2f} x   {difference:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
