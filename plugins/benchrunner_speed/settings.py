"""Settings of a measurement, declared once: options, help and checks follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from benchrunner.results import Declared, parameter

FEWEST_REPEATS = 6
"""With fewer repeats, no interval of order statistics covers the median with 95 %: see `intervals`."""


@final
@dataclass(frozen=True)
class SpeedSettings(Declared):
    """How speed and memory are measured."""

    lengths: tuple[int, ...] = parameter(
        (32, 128, 512), "tokens of a sequence", int, at_least=3, at_most=100_000, separator=","
    )
    batches: tuple[int, ...] = parameter(
        (1, 8, 32),
        "sequences of a batch; the fastest of them is measured beside 1",
        int,
        at_least=1,
        at_most=100_000,
        separator=",",
    )
    repeats: int = parameter(9, "rounds, in each of which every backbone has its turn", at_least=FEWEST_REPEATS)
    precision: str = parameter("fp32", "precision of the products", choices=("fp32", "bf16", "auto"))
    threads: int | None = parameter(
        None, "threads of a CPU (default: all that this process may use)", int, at_least=1, at_most=4096
    )
    device: str = parameter("auto", "cpu, cuda, cuda:1, mps, ...")
    training: bool = parameter(True, "measure training steps, too")
    train_batch: int = parameter(32, "sequences of a training step, and of the batch whose memory counts", at_least=1)
    train_length: int = parameter(128, "tokens of each of these sequences", at_least=3)
