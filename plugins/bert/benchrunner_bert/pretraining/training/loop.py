"""The loop of pre-training: instances to batches to steps, with checkpoints, a log, and looks at held-out text."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchrunner import DataError, FitError, HeldBack, RequestError
from benchrunner.engine import Dropout, rounding, step_log
from benchrunner_bert.pretraining.continuation import check_same
from benchrunner_bert.pretraining.deepspeed.engine import Engine
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch, collate
from benchrunner_bert.pretraining.instances.instance import Instance
from benchrunner_bert.pretraining.instances.instances import Instances
from benchrunner_bert.pretraining.settings import Settings, check_shared
from benchrunner_bert.pretraining.training import held_out
from benchrunner_bert.pretraining.training.checkpoints import Checkpoints
from benchrunner_bert.pretraining.training.log_window import LogWindow
from benchrunner_bert.pretraining.training.model import PretrainingModel
from benchrunner_bert.pretraining.training.plan import Plan
from benchrunner_bert.pretraining.training.sums import Sums

Makers = Mapping[int, Instances]
"""Length of the sequences -> what makes them."""


@dataclass
class Pretraining:
    """One process's part of a run."""

    engine: Engine
    model: PretrainingModel
    settings: Settings
    makers: Makers
    folder: Path
    facts: dict[str, Any]
    """What a checkpoint says of its run."""
    plan: Plan = field(default_factory=Plan)
    held_out: Makers | None = None
    export: Callable[[int], None] = lambda step: None
    describe: Callable[[int], str] = lambda step: "{}"
    """What DeepSpeed's own files say of their model: see `conversion.description`."""
    report: Callable[[int, Mapping[str, Any]], None] = lambda step, figures: None
    first: int = field(init=False, default=0)
    """The step that `run` began with."""

    def __post_init__(self) -> None:
        self.log = self.folder / "log.jsonl"
        self.checkpoints = Checkpoints(self.folder / "checkpoints", keep=self.plan.keep, shares=self.plan.shares)
        check_shared(self.settings.batch_size, self.engine.world)

    def run(self) -> bool:
        """All steps that are left; whether they were taken, or the run was stopped and can go on."""
        with HeldBack() as interrupt:
            self.first, pending = self._resume()
            window = LogWindow(self.settings, self.model.bert.config, self.engine, pending)
            if self.first == self.settings.steps:  # learnt, and stopped before its model was whole
                self._export(self.first)
            for step in range(self.first, self.settings.steps):
                sums, lengths, stop = self._learn(step, asked=interrupt.asked)
                done, last = step + 1, step + 1 == self.settings.steps
                window.add(sums, lengths)
                if done % self.plan.log_steps == 0 or last:
                    self._write(done, window.figures(done))
                began = time.monotonic()
                if self.held_out is not None and (done % self.plan.evaluate_steps == 0 or last):
                    self._evaluate(done)
                if done in self.plan.export_at or last:
                    self._export(done)
                if stop or (done % self.plan.checkpoint_steps == 0) or last:
                    self._save(done, window.pending)
                window.leave_out(time.monotonic() - began)
                if stop and not last:
                    return False
        return True

    def _resume(self) -> tuple[int, tuple[float, ...]]:
        """The step to go on with, and the sums for the next line of the log, which is cut back to that step."""
        saved = self.checkpoints.last()
        step = 0 if saved is None else saved.step
        if not self.engine.agrees(step):
            raise RequestError(
                f"The processes find different checkpoints in {self.checkpoints.folder}: several machines need a "
                "folder that all of them see, or a copy each of the newest checkpoint."
            )
        if saved is not None:
            check_same(saved.facts, self.facts, saved.folder)
            saved.restore(self.engine)
        if self.engine.rank == 0:
            self.checkpoints.sweep()
            step_log.cut_back(self.log, step)
        return step, () if saved is None else saved.pending

    def _learn(self, step: int, *, asked: bool) -> tuple[Sums, np.ndarray, bool]:
        """One step: the sums over all processes, this one's lengths, and whether any was asked to stop."""
        parts = self._parts(step)
        tokens = sum(len(one.positions) for part in parts for one in part)
        pairs = sum(one.is_next >= 0 for part in parts for one in part)
        all_tokens, all_pairs, stops = self.engine.summed(tokens, pairs, float(asked))
        if not all_tokens:
            raise DataError(f"Step {step + 1} has no token to predict: the vocabulary knows no word of this text.")
        total: Sums | None = None
        for at, part in enumerate(parts):
            batch = self._batch(part, dropout=Dropout(self.settings.seed, step, self.engine.rank, at))
            with torch.autocast(self.engine.device.type, torch.bfloat16, enabled=self.settings.precision == "bf16"):
                sums: Sums = self.engine(batch)
            # The mean over the whole batch, not over this process's part of it.
            self.engine.backward(sums.loss(int(all_tokens), int(all_pairs)), last=at + 1 == len(parts))
            total = sums.detached() if total is None else total.plus(sums.detached())
        self.engine.step(step, self.settings.lr_at(step))
        assert total is not None
        lengths = np.array([len(one.tokens) for part in parts for one in part])
        return Sums(*map(torch.tensor, self.engine.summed(*(float(one) for one in total)))), lengths, stops > 0

    def _parts(self, step: int) -> list[list[Instance]]:
        """This process's instances of a step, in as many parts as every other process has."""
        size, world, length = self.settings.batch_size, self.engine.world, self.settings.length_at(step)
        maker = self.makers[length]
        instances = [maker.make(index) for index in range(step * size + self.engine.rank, (step + 1) * size, world)]
        count = self._rounds(size, length)
        return [instances[at::count] for at in range(count)]

    def _rounds(self, sequences: int, length: int) -> int:
        """In how many parts every process computes its share: each has a sequence in every part."""
        world, at_once = self.engine.world, max(1, self.settings.micro_tokens // length)
        return min(sequences // world, math.ceil(math.ceil(sequences / world) / at_once))

    def _batch(self, instances: list[Instance], *, dropout: Dropout | None = None) -> PretrainingBatch:
        return collate(instances, self.engine.device, dropout=dropout, multiple=rounding(self.settings.precision))

    def _evaluate(self, step: int) -> None:
        """The same held-out instances every time, shared by the processes."""
        assert self.held_out is not None
        length = self.settings.length_at(step - 1)
        maker, count = self.held_out[length], max(self.plan.held_out_instances, self.engine.world)
        mine = range(self.engine.rank, count, self.engine.world)
        rounds = self._rounds(count, length)

        def batches() -> Iterator[PretrainingBatch]:
            for at in range(rounds):
                chosen = list(mine)[at::rounds]
                yield self._batch([maker.make(index) for index in chosen])

        self.engine.module.eval()
        sums = held_out.summed(self.engine, batches(), precision=self.settings.precision)
        self.engine.module.train()
        total = Sums(*map(torch.tensor, self.engine.summed(*(float(one) for one in sums))))
        found = dataclasses.asdict(held_out.HeldOut.of(total))
        self._write(step, {f"held_out_{name}": value for name, value in found.items() if value is not None})

    def _export(self, step: int) -> None:
        """Weights gathered from all processes; one of them writes."""
        weights = self.engine.weights()
        if self.engine.rank == 0:
            named = dict(self.model.named_parameters())
            kept = {name: one.data for name, one in named.items()}
            try:
                for name, one in weights.items():
                    named[name].data = one
                self.export(step)
            finally:
                for name, data in kept.items():
                    named[name].data = data

    def _save(self, step: int, pending: tuple[float, ...]) -> None:
        self.checkpoints.save(step, self.facts, self.engine, lambda: self.describe(step), pending=pending)

    def _write(self, step: int, figures: Mapping[str, Any]) -> None:
        if not math.isfinite(figures.get("loss", 0.0)):
            raise FitError(
                f"The loss was not a finite number at step {step}: lower the rate or lengthen the warm-up, remove "
                f"{self.folder} and start again."
            )
        if self.engine.rank == 0:
            step_log.append(self.log, step, figures)
            self.report(step, figures)
