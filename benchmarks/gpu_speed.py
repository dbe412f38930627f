"""Steps a second of fine-tuning on a GPU: by single kernels, by CUDA graphs, and beside transformers' Trainer.

python benchmarks/gpu_speed.py --data DIR --vocab vocab.txt [--size 12/768] [--architectures bert,modernbert]
    [--tasks cola,rte] [--steps 200] [--repeats 3] [--precision bf16] [--profile]

The model has random weights and BERT's shape, also that of another architecture. All systems learn the same rows in
batches of 32 with AdamW's fused kernel, the Trainer from batches of sorted rows, which is the fastest of its orders.
The first quarter of the steps warms up: graphs are recorded there. The device is waited for at both ends of the
measured steps. The systems take turns in one process; the table has medians, and NaN for a model that graphs cannot
compute. `--profile` counts kernels and the time that the GPU was busy.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
import math
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from fine_tuning_speed import architecture_names, write_random_model
from measured_tasks import described, existing_folder, machine, task_names
from peer_tasks import BATCH, grouped_trainer, peer_task

from benchrunner import BenchrunnerError, Workspace
from benchrunner.results import Computing, Event, Runner, discover
from benchrunner.workspace import Settings

SYSTEMS = ("trainer", "ours", "ours, graphs")


class Clock:
    """Times the last three quarters of some steps, the work of the device included."""

    def __init__(self, steps: int) -> None:
        self.steps, self.done, self.began, self.seconds = steps, 0, 0.0, 0.0

    def step(self) -> None:
        """Note that a step has ended."""
        self.done += 1
        if self.done in (self.steps // 4, self.steps):
            torch.cuda.synchronize()
            self.began, before = time.perf_counter(), self.began
            self.seconds = self.began - before

    @property
    def rate(self) -> float:
        """Steps a second."""
        if self.done != self.steps:
            raise SystemExit(f"{self.done} steps were taken, not {self.steps}")
        return (self.steps - self.steps // 4) / self.seconds


def write_model(folder: Path, vocabulary: Path, size: str) -> None:
    """Write a random BERT, such as 12/768, for both sides."""
    from transformers import BertConfig, BertModel, BertTokenizer

    layers, width = map(int, size.split("/"))
    tokenizer = BertTokenizer(vocab=str(vocabulary))
    config = BertConfig(
        vocab_size=len(tokenizer),
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
    )
    torch.manual_seed(0)
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def ours(asked: argparse.Namespace, name: str, model: Path, *, graphs: bool, seed: int) -> float:
    """Fit as the command `run` does; give the steps a second, NaN for a model that graphs cannot compute."""
    clock = Clock(asked.steps)

    def report(fit: Any, event: Event) -> None:
        if event.kind == "step":
            clock.step()

    plugins = discover()
    task = plugins.tasks.find(name)
    recipe = dataclasses.replace(
        task.recipe,
        lr=5e-5,
        epochs=1,
        max_steps=asked.steps,  # a row may have several sequences
        batch_size=BATCH,
        precision=asked.precision,
        limit_train=asked.steps * BATCH,
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(limit_dev=32)
        workspace = Workspace(Path(folder) / "runs", Path(folder) / "cache", data=asked.data, settings=settings)
        computing = Computing("cuda", cuda_graphs=graphs)
        runner = Runner(plugins, workspace, computing, report=report)
        record = runner.run(runner.planner.plan(task, str(model), recipe=recipe, seed=seed))
        if record.status != "done":
            raise BenchrunnerError(f"The fit {record.status}: {record.reason}")
        if graphs and not record.numerics.get("cuda_graphs"):
            return math.nan
    return clock.rate


def trainer(asked: argparse.Namespace, name: str, model: Path, *, seed: int) -> float:
    """Fit with transformers' Trainer; give the steps a second."""
    from transformers import TrainerCallback

    clock = Clock(asked.steps)

    class Timing(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            clock.step()

    with tempfile.TemporaryDirectory() as home:
        workspace = Workspace(Path(home) / "runs", Path(home) / "cache", data=asked.data)
        runner = Runner(discover(), workspace)
        task = runner.plugins.tasks.find(name)
        peer = peer_task(described(task), model)
        rows = runner.planner.rows(task, task.train).table.slice(0, asked.steps * BATCH).to_pylist()
        examples = peer.examples(rows)[: asked.steps * BATCH]
        loop = grouped_trainer(
            peer, examples, Path(home), precision=asked.precision, padded=False, seed=seed, callbacks=[Timing()]
        )
        loop.train()
    return clock.rate


def measured(asked: argparse.Namespace, task: str, model: Path, system: str, seed: int) -> float:
    if system == "trainer":
        return trainer(asked, task, model, seed=seed)
    return ours(asked, task, model, graphs="graphs" in system, seed=seed)


def profile(asked: argparse.Namespace, task: str, model: Path) -> None:
    """Print how many kernels a step launches, how long the GPU is busy in it, and what takes its time."""
    from torch.profiler import ProfilerActivity, profile as recorded

    for system in SYSTEMS:
        with recorded(activities=[ProfilerActivity.CUDA]) as events:
            measured(asked, task, model, system, 0)
        kernels = events.key_averages()
        count = sum(kernel.count for kernel in kernels) / asked.steps
        busy = sum(kernel.self_device_time_total for kernel in kernels) / asked.steps / 1000
        print(f"\n{task}, {system}: {count:.0f} kernels and copies a step, {busy:.2f} ms of the GPU")
        print(kernels.table(sort_by="self_device_time_total", row_limit=12, max_name_column_width=60))


def compare(asked: argparse.Namespace, architecture: str, model: Path) -> None:
    """Print the table of one model."""
    print(f"\n{architecture}\n\n| task | system | steps a second: median (least, most) | beside the Trainer |")
    print("|---|---|---|---|")
    for name in asked.tasks:
        if asked.profile:
            profile(asked, name, model)
            continue
        rates: dict[str, list[float]] = {system: [] for system in SYSTEMS}
        for turn in range(asked.repeats):
            for system in SYSTEMS:
                rates[system].append(measured(asked, name, model, system, turn))
        for system, found in rates.items():
            median = statistics.median(found)
            ratio = median / statistics.median(rates["trainer"])
            print(
                f"| {name} | {system} | {median:.1f} ({min(found):.1f}, {max(found):.1f}) | {ratio:.2f} |", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=existing_folder, required=True)
    parser.add_argument("--vocab", type=Path, required=True)
    parser.add_argument("--size", default="12/768")
    parser.add_argument("--architectures", type=architecture_names, default=["bert"])
    parser.add_argument("--tasks", type=task_names, default=["glue/cola", "glue/rte"])
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)
    print(f"{torch.cuda.get_device_name()}; {machine()}; {asked.size}, {asked.precision}, {asked.repeats} turn(s)")
    for architecture in asked.architectures:
        with tempfile.TemporaryDirectory() as folder:
            bert, model = Path(folder, "bert"), Path(folder, "model")
            write_model(bert, asked.vocab, asked.size)
            if architecture == "bert":
                model = bert
            else:
                model.mkdir()
                write_random_model(architecture, bert, model)
            compare(asked, architecture, model)


if __name__ == "__main__":
    main()
