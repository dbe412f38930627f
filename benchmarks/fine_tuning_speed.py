"""Tokens a second of fine-tuning, beside transformers' Trainer: same weights, rows, recipe and machine, interleaved.

python benchmarks/fine_tuning_speed.py --data DIR [--quick] [--model DIR] [--tasks cola,rte] [--precision fp32]
    [--architectures roberta,modernbert] [--cpu-time]

Each measurement is a process of its own that fits one epoch of some rows and then scores dev, with the number of the
turn as its seed. The systems take turns. A table has the medians over the turns, their ratio to ours at the same
precision, and the means of the dev scores with their standard deviation. After so few steps the scores are low, and
they scatter: see trainer_parity.py and squad_parity.py for scores after whole fine-tunings.

The Trainer takes its batches from rows that are sorted by length as it sorts them over a large data set, in parts of
50 batches; that is the fastest of its orders. Ours takes random batches. The first step of each side warms up and is
not counted, and nor are its tokens, since the Trainer's first batch is its longest. Padding is not counted.
`--without padded,bf16` leaves systems out. `--architectures` measures random models of other architectures in the
model's shape and with its tokenizer; `--cpu-time` counts seconds of the processor in place of the clock's, for a
machine with other work on one pinned core (`taskset -c 1`). `--profile` prints where our step goes instead.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measured_tasks import TASKS, default_model, described, existing_folder, machine, number, score, task_names
from peer_tasks import BATCH, SORTED, grouped_trainer, peer_task

from benchrunner import BenchrunnerError, Recipe, Task, Workspace
from benchrunner.engine import randomness
from benchrunner.results import Event, Runner, discover, predict
from benchrunner.workspace import Settings

SYSTEMS = (
    "trainer fp32 padded",
    "trainer fp32 grouped",
    "trainer bf16 grouped",
    "ours fp32",
    "ours bf16",
    "ours fp32, plugin transformers",
    "ours bf16, plugin transformers",
)
STEPS = {"squad/1.1": 16, "swag/swag": 12}
"""Steps of a measurement; `SORTED` for the other tasks."""
QUICK_STEPS = {"squad/1.1": 4, "swag/swag": 6}
QUICK = 12
DEV_ROWS = 300
CPU_TIME = "BENCHMARK_CPU_TIME"
"""Environment variable: the processes count seconds of the processor."""


@dataclass(frozen=True)
class Measurement:
    """What one process measures."""

    data: Path
    model: Path
    task: str
    system: str
    steps: int
    seed: int = 0

    @property
    def precision(self) -> str:
        return "bf16" if "bf16" in self.system else "fp32"

    def recipe(self, task: Task) -> Recipe:
        """Return the task's recipe with one epoch of batches of 32."""
        return dataclasses.replace(
            task.recipe, lr=5e-5, epochs=1, batch_size=BATCH, precision=self.precision, limit_train=self.steps * BATCH
        )

    def workspace(self, folder: Path) -> Workspace:
        settings = Settings(limit_dev=DEV_ROWS)
        return Workspace(folder / "runs", folder / "cache", data=self.data, settings=settings)

    def training_rows(self, runner: Runner, task: Task) -> list[dict[str, Any]]:
        """Return the rows that are learned from."""
        return list(runner.planner.rows(task, task.train).table.slice(0, self.steps * BATCH).to_pylist())


class Clock:
    """Times a part of a process, but for its first step, which warms up."""

    def __init__(self) -> None:
        self.steps, self.started, self.stopped = 0, 0.0, 0.0
        self.now = time.process_time if CPU_TIME in os.environ else time.perf_counter

    def step(self) -> None:
        """Note that a step has ended."""
        self.steps += 1
        self.stopped = self.now()
        if self.steps == 1:
            self.started = self.stopped

    def rate(self, tokens: Sequence[int]) -> float:
        """Return the tokens per second of all steps but the first, from the number of tokens of each step."""
        assert len(tokens) == self.steps
        return sum(tokens[1:]) / (self.stopped - self.started)


class Counting:
    """Makes batches of examples as another collator does, and counts the tokens of each that are not padding."""

    def __init__(self, collator: Any) -> None:
        self.collator = collator
        self.tokens: list[int] = []

    def __call__(self, examples: list[dict[str, Any]]) -> Any:
        batch = self.collator(examples)
        self.tokens.append(int(batch["attention_mask"].sum()))
        return batch


def number_of_tokens(ids: list[Any]) -> int:
    """Count the tokens of an example: of its sequence, or of its several sequences."""
    return sum(map(len, ids)) if isinstance(ids[0], list) else len(ids)


def tokens_of_steps(lengths: Sequence[int], seed: int) -> list[int]:
    """Return the number of tokens of each of our steps: batches of the first epoch's order of the rows."""
    order = randomness.permutation(len(lengths), seed, "order", 0)
    counts = np.asarray(lengths)[order]
    return [int(counts[start : start + BATCH].sum()) for start in range(0, len(counts), BATCH)]


def trainer(asked: Measurement) -> dict[str, float]:
    """Fit with transformers' Trainer."""
    from transformers import TrainerCallback

    clock = Clock()

    class Timing(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            clock.step()

    with tempfile.TemporaryDirectory() as name:
        folder, padded = Path(name), "padded" in asked.system
        runner = Runner(discover(), asked.workspace(folder))
        task = runner.plugins.tasks.find(asked.task)
        peer = peer_task(described(task), asked.model)
        examples = peer.examples(asked.training_rows(runner, task), padded=padded)
        loop = grouped_trainer(
            peer,
            examples,
            folder,
            precision=asked.precision,
            padded=padded,
            seed=asked.seed,
            callbacks=[Timing()],
        )
        counting = Counting(loop.data_collator)
        loop.data_collator = counting
        loop.train()
        loop.data_collator = peer.collator()
        dev = runner.planner.rows(task, task.selection_splits[0]).table.to_pylist()
        answers = peer.answers(loop, dev, precision=asked.precision)
        return {"rate": clock.rate(counting.tokens), "score": score(task, dev, answers)}


def ours(asked: Measurement) -> dict[str, float]:
    """Fit as the command `run` does."""
    clock = Clock()

    def report(fit: Any, event: Event) -> None:
        if event.kind == "step":
            clock.step()

    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(discover(), asked.workspace(Path(folder)), report=report)
        task = runner.plugins.tasks.find(asked.task)
        family = "transformers:" if "plugin" in asked.system else ""
        fit = runner.planner.plan(task, f"{family}{asked.model}", recipe=asked.recipe(task), seed=asked.seed)
        record = runner.run(fit)
        if record.status != "done":
            raise BenchrunnerError(f"The fit {record.status}: {record.reason}")
        value = predict(fit, task.selection_splits[0], runner).record.scores[task.metrics[0].name].value
        examples = peer_task(described(task), asked.model).examples(asked.training_rows(runner, task))
        lengths = [number_of_tokens(example["input_ids"]) for example in examples]
        return {"rate": clock.rate(tokens_of_steps(lengths, asked.seed)), "score": number(value)}


def architecture_names(text: str) -> list[str]:
    """Check that transformers has architectures of these names; an `argparse` type."""
    from transformers import CONFIG_MAPPING

    names = text.split(",")
    if unknown := [name for name in names if name not in CONFIG_MAPPING]:
        raise argparse.ArgumentTypeError(f"transformers has no architecture {', '.join(unknown)}")
    return names


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
    config = AutoConfig.for_model(
        architecture, **{key: value for key, value in settings.items() if value is not None and key not in unwanted}
    )
    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)


def measure(asked: Measurement, *, cpu_time: bool) -> dict[str, float]:
    """Measure in a process of its own."""
    values = {name: str(value) for name, value in dataclasses.asdict(asked).items()}
    environment = {"GOMP_SPINCOUNT": "3000", **os.environ, "TOKENIZERS_PARALLELISM": "false"}
    if cpu_time:
        environment[CPU_TIME] = "yes"
    words = [sys.executable, __file__, "--one", json.dumps(values)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{asked.system} on {asked.task} failed:\n{done.stderr}")
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def one(values: dict[str, str]) -> None:
    """Measure in this process, and print the result."""
    paths = {name: Path(values[name]) for name in ("data", "model")}
    asked = Measurement(
        **paths, task=values["task"], system=values["system"], steps=int(values["steps"]), seed=int(values["seed"])
    )
    print(json.dumps((ours if asked.system.startswith("ours") else trainer)(asked)))


def profile(asked: Measurement) -> None:
    """Print where the time of our fit goes."""
    from torch.profiler import ProfilerActivity, profile as recorded

    with recorded(activities=[ProfilerActivity.CPU]) as events:
        ours(asked)
    print(f"\n{asked.task}, {asked.system}")
    print(events.key_averages().table(sort_by="self_cpu_time_total", row_limit=16, max_name_column_width=40))


def compare(arguments: argparse.Namespace, model: Path, name: str) -> None:
    """Print the table of one model: a row for each system, on each task."""
    left_out = arguments.without.split(",") + (["plugin"] if arguments.architectures else [])
    systems = [system for system in SYSTEMS if not any(part in system for part in left_out)]
    print(f"\n{name}; {arguments.repeats} turn(s); {machine()}\n")
    print("| task | steps | system | tokens a second | ours / it | dev | score (deviation) |")
    print("|---|---|---|---|---|---|---|")
    for task in arguments.tasks:
        steps = QUICK_STEPS.get(task, QUICK) if arguments.quick else STEPS.get(task, SORTED)
        results: dict[str, list[dict[str, float]]] = {system: [] for system in systems}
        for turn in range(arguments.repeats):
            for system in systems:
                asked = Measurement(arguments.data, model, task, system, steps, seed=turn)
                results[system].append(measure(asked, cpu_time=arguments.cpu_time))
        rates = {system: statistics.median(result["rate"] for result in results[system]) for system in systems}
        metric = discover().tasks.find(task).metrics[0].name
        for system in systems:
            same = "ours bf16" if "bf16" in system else "ours fp32"
            ratio = f"{rates[same] / rates[system]:.2f}" if same in rates and system != same else ""
            scores = [result["score"] for result in results[system]]
            spread = f" ({statistics.stdev(scores):.3f})" if len(scores) > 1 else ""
            figures = f"{rates[system]:,.0f} | {ratio} | {metric} | {statistics.fmean(scores):.3f}{spread}"
            print(f"| {task} | {steps} | {system} | {figures} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=existing_folder, required="--one" not in sys.argv)
    parser.add_argument("--model", type=existing_folder, default=default_model())
    parser.add_argument("--repeats", type=int, help="turns; 3 by default, 1 with --quick")
    parser.add_argument("--quick", action="store_true", help="few steps, fp32 and grouped alone: under 10 minutes")
    parser.add_argument("--tasks", type=task_names, default=list(TASKS))
    parser.add_argument("--architectures", type=architecture_names, default=[])
    parser.add_argument("--without", metavar="PARTS", help="not the systems with these words: padded,bf16")
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one)
        return
    arguments.repeats = arguments.repeats or (1 if arguments.quick else 3)
    arguments.without = arguments.without or ("padded,bf16,plugin" if arguments.quick else "nothing")
    if arguments.profile:
        for task in arguments.tasks:
            for system in ("ours fp32", "ours bf16"):
                profile(Measurement(arguments.data, arguments.model, task, system, QUICK_STEPS.get(task, QUICK)))
        return
    if not arguments.architectures:
        compare(arguments, arguments.model, "the model")
    for architecture in arguments.architectures:
        with tempfile.TemporaryDirectory() as folder:
            write_random_model(architecture, arguments.model, Path(folder))
            compare(arguments, Path(folder), architecture)


if __name__ == "__main__":
    main()
