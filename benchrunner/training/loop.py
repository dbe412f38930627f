"""The one training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import nn

from benchrunner.errors import FitError
from benchrunner.features.arrays import Features
from benchrunner.features.flat_batch import FlatBatch, collate, micro_batches, rounding
from benchrunner.features.randomness import Dropout
from benchrunner.interrupts import HeldBack
from benchrunner.problems.problem import Problem
from benchrunner.recipes import Recipe
from benchrunner.training import step_log
from benchrunner.training.checkpoints import Checkpoint
from benchrunner.training.optimizer import Optimizer
from benchrunner.training.schedule import Schedule
from benchrunner.workspace import CHECKPOINT_SECONDS

LOG_STEPS = 10
"""Between two lines of the log, and between two looks at a loss that is still on an accelerator."""


@dataclass
class Training:
    """One model learning from one set of features; `run` may go on where an earlier process was killed."""

    model: Callable[[FlatBatch], torch.Tensor]
    modules: Mapping[str, nn.Module]
    """What is trained and kept in checkpoints, by name."""
    features: Features
    problem: Problem
    recipe: Recipe
    seed: int
    device: torch.device
    checkpoint: Checkpoint
    log: Path
    report: Callable[[int, int], None] = lambda step, steps: None
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    micro_tokens: int = field(init=False)
    """The token budget in force; halved where memory runs out, and part of the numerics."""
    diverged: int | None = field(init=False, default=None)
    """The step whose loss was not a finite number."""

    first: int = field(init=False, default=0)
    """The step that `run` began with; not 0 where it went on from a checkpoint."""

    def __post_init__(self) -> None:
        self.micro_tokens = self.recipe.micro_tokens
        self.schedule = Schedule(self.features.batch_counts, self.recipe, self.seed)
        self.optimizer = Optimizer(self.modules, self.recipe)
        self._unit_tokens = self.features.unit_tokens
        self._pending: list[tuple[int, torch.Tensor]] = []

    def run(self) -> None:
        """All steps that are left. Afterwards `diverged` says whether the weights are of any use.

        Ctrl-C ends the step that is being computed, leaves a checkpoint and then goes its way.
        """
        with HeldBack() as interrupt:
            self._steps(interrupt)

    @property
    def divergence_reason(self) -> str:
        """Why a diverged training ended."""
        return f"the loss was not a finite number at step {self.diverged} of {self.schedule.steps}"

    def timings(self, seconds: float) -> dict[str, float]:
        """What a record says of a run that took so long."""
        counts = self.features.batch_counts
        rows = sum(int(counts[self.schedule.batch(step)].sum()) for step in range(self.first, self.schedule.steps))
        return {"train_seconds": seconds, "examples_per_second": rows / seconds}

    def _steps(self, interrupt: HeldBack) -> None:
        self.first = self._resume()
        saved = time.monotonic()
        for module in self.modules.values():
            module.train()
        for step in range(self.first, self.schedule.steps):
            loss = self._learn(step)
            self._pending.append((step, loss))
            last = step + 1 == self.schedule.steps
            if loss.device.type == "cpu" or last or len(self._pending) == LOG_STEPS or interrupt.asked:
                if not self._settle():
                    return
                due = not last and time.monotonic() - saved > self.checkpoint_seconds
                if due or interrupt.asked:
                    self.checkpoint.save(step + 1, self.micro_tokens, self.optimizer)
                    saved = time.monotonic()
                if interrupt.asked:
                    return
            self.report(step + 1, self.schedule.steps)

    def _resume(self) -> int:
        """The step to go on with; the log is cut back to it."""
        step, self.micro_tokens = self.checkpoint.load(self.optimizer) or (0, self.micro_tokens)
        step_log.cut_back(self.log, step)
        return step

    def _learn(self, step: int) -> torch.Tensor:
        """One optimizer step; its mean loss, still on the device."""
        units = self.schedule.batch(step)
        while True:
            try:
                loss = self._gradients(step, units)
                break
            except RuntimeError as error:  # torch's own OutOfMemoryError, or the CPU allocator's plain one
                if not _out_of_memory(error):
                    raise
                self._halve(units)
        self.optimizer.step(step, self.schedule.lr(step))
        return loss

    def _gradients(self, step: int, units: np.ndarray) -> torch.Tensor:
        self.optimizer.clear()
        total, weight = torch.zeros((), device=self.device), self.features.loss_weight(units)
        for part, chosen in enumerate(micro_batches(units, self._unit_tokens, self.micro_tokens)):
            dropout, multiple = Dropout(self.seed, step, part), rounding(self.recipe.precision)
            batch = collate(self.features, chosen, self.device, dropout=dropout, multiple=multiple)
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.recipe.precision == "bf16"):
                outputs = self.model(batch)
            # The mean over the recipe's batch, not over the part of it that fits into memory.
            loss = self.problem.loss(outputs, batch) / weight
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.detach()
        return total

    def _halve(self, units: np.ndarray) -> None:
        largest = int(self._unit_tokens[units].max())
        used = min(self.micro_tokens, int(self._unit_tokens[units].sum()))
        if used <= largest:
            raise FitError(
                f"Out of memory on {self.device} with a single unit of {largest} tokens: "
                "use a shorter max_length, a smaller backbone or another device."
            )
        self.optimizer.clear()
        self.micro_tokens = used // 2

    def _settle(self) -> bool:
        """Look at the losses since the last look; False where one is not finite."""
        for step, loss in self._pending:
            value = float(loss)
            if not math.isfinite(value):
                self.diverged = step + 1
                self._write(step + 1, value)
                return False
            if (step + 1) % LOG_STEPS == 0 or step + 1 == self.schedule.steps:
                self._write(step + 1, value)
        self._pending.clear()
        return True

    def _write(self, step: int, loss: float) -> None:
        figures = {"loss": loss if math.isfinite(loss) else str(loss), "lr": self.schedule.lr(step - 1)}
        step_log.append(self.log, step, figures)


def _out_of_memory(error: RuntimeError) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
