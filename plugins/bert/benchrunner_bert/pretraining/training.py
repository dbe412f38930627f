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
from benchrunner_bert.pretraining import evaluation
from benchrunner_bert.pretraining.batches import PretrainingBatch, collate
from benchrunner_bert.pretraining.begun import check_same
from benchrunner_bert.pretraining.checkpoints import Checkpoints
from benchrunner_bert.pretraining.engine import Engine
from benchrunner_bert.pretraining.flops import measured_peak, step_flops, utilisation
from benchrunner_bert.pretraining.instances import Instance, Instances
from benchrunner_bert.pretraining.objectives import PretrainingModel, Sums
from benchrunner_bert.pretraining.settings import Settings, check_shared

Makers = Mapping[int, Instances]
"""Length of the sequences -> what makes them."""


@dataclass(frozen=True)
class Plan:
    """When the loop does more than learn."""

    checkpoint_steps: int = 1000
    keep: int = 2
    """Checkpoints."""
    shares: bool = False
    """In DeepSpeed's own format, each process its share, instead of whole."""
    log_steps: int = 10
    evaluate_steps: int = 1000
    held_out_instances: int = 256
    export_at: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("checkpoint_steps", "keep", "log_steps", "evaluate_steps", "held_out_instances"):
            if getattr(self, name) < 1:
                raise RequestError(f"{name} must be at least 1, not {getattr(self, name)}.")


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
            window = _Window(self, pending)
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
        sums = evaluation.summed(self.engine, batches(), precision=self.settings.precision)
        self.engine.module.train()
        total = Sums(*map(torch.tensor, self.engine.summed(*(float(one) for one in sums))))
        found = dataclasses.asdict(evaluation.HeldOut.of(total))
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


class _Window:
    """The steps since the last line of the log.

    Losses are means over all of them, also over those that an earlier process took; rates are about this process's.
    """

    def __init__(self, run: Pretraining, pending: tuple[float, ...] = ()) -> None:
        """`pending` is what the earlier process's window had summed up, empty where it had not begun."""
        kind = torch.bfloat16 if run.settings.precision == "bf16" else torch.float32
        self._peak = measured_peak(run.engine.device, kind)
        self._run, self._steps, self._began = run, 0, time.monotonic()
        self._sums = Sums(*map(torch.tensor, pending)) if pending else None
        self._earlier_tokens = pending[1] if pending else 0.0
        self._lengths = list[np.ndarray]()

    def add(self, sums: Sums, lengths: np.ndarray) -> None:
        self._sums = sums if self._sums is None else self._sums.plus(sums)
        self._lengths.append(lengths)
        self._steps += 1

    @property
    def pending(self) -> tuple[float, ...]:
        """The sums of `objectives.Sums`, as numbers; empty where no step was taken since the last line of the log."""
        return () if self._sums is None else tuple(float(total) for total in self._sums)

    def leave_out(self, seconds: float) -> None:
        """They were not spent on learning."""
        self._began += seconds

    def figures(self, done: int) -> dict[str, Any]:
        """Means over the window, and how fast it went."""
        assert self._sums is not None
        settings, seconds = self._run.settings, time.monotonic() - self._began
        loss, count, correct, nsp_loss, nsp_count, nsp_correct = (float(one) for one in self._sums)
        lengths, config = np.concatenate(self._lengths), self._run.model.bert.config
        others = self._steps * settings.batch_size / len(lengths)  # this process's share stands for the others'
        flops = others * step_flops(config, lengths, 0, next_sentence=nsp_count > 0)
        flops += step_flops(config, lengths[:0], int(count - self._earlier_tokens), next_sentence=False)
        found: dict[str, Any] = {"loss": loss / count + (nsp_loss / nsp_count if nsp_count else 0.0)}
        found |= {"mlm_loss": loss / count, "mlm_accuracy": correct / count}
        if nsp_count:
            found |= {"nsp_loss": nsp_loss / nsp_count, "nsp_accuracy": nsp_correct / nsp_count}
        found |= {"lr": settings.lr_at(done - 1), "sequences_per_second": self._steps * settings.batch_size / seconds}
        found |= {"tokens_per_second": others * float(lengths.sum()) / seconds, "flops_per_second": flops / seconds}
        found |= {"utilisation": utilisation(flops / self._run.engine.world, seconds, self._peak)}
        found |= {"seconds_left": seconds / self._steps * (settings.steps - done)}
        self._sums, self._earlier_tokens = None, 0.0
        self._lengths, self._steps, self._began = [], 0, time.monotonic()
        return found
