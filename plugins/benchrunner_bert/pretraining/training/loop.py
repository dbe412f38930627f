"""The training loop of pre-training: instances to batches to steps, with checkpoints, a log and held-out evaluation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from benchrunner import CheckpointError, DataError, FitError, RequestError
from benchrunner.engine import Dropout, flat_batch, step_log
from benchrunner.results import interrupts
from benchrunner_bert.pretraining.continuation import check_same, with_steps_to_come
from benchrunner_bert.pretraining.deepspeed.engine import Engine
from benchrunner_bert.pretraining.instances.batches import Packed, PretrainingBatch
from benchrunner_bert.pretraining.request import Request
from benchrunner_bert.pretraining.training.checkpoints import Checkpoints, remedy
from benchrunner_bert.pretraining.training.feed import Feed, InstancesByLength, made_ahead, makers
from benchrunner_bert.pretraining.training.held_out import held_out_figures, summed
from benchrunner_bert.pretraining.training.log_window import LogWindow, progress
from benchrunner_bert.pretraining.training.model import PretrainingModel
from benchrunner_bert.pretraining.training.sums import Sums


@dataclass
class TrainingLoop:
    """The steps of a pre-training as one of its processes takes them, with the log, evaluations and checkpoints."""

    request: Request
    engine: Engine
    model: PretrainingModel
    instances: InstancesByLength
    held_out: InstancesByLength | None
    facts: dict[str, Any]
    """Facts that a checkpoint shares with the run that continues from it."""
    export: Callable[[int], None]
    """Exports the model of a step."""
    kernels: Any = None
    """What computes some operators on a CPU in place of torch, as a plugin offers it; None: torch computes all."""

    def __post_init__(self) -> None:
        engine = self.engine
        self.settings = self.request.settings
        self.settings.check_shared(engine.world)
        self.log = self.request.out / "log.jsonl"
        self.checkpoints = Checkpoints(self.request.out / "checkpoints", keep=self.request.keep_checkpoints)
        self.feed = Feed(self.settings, self.instances, engine.rank, engine.world)
        self.model.casts_together = engine.stage == 0 and engine.device.type == "cuda"

    def run(self) -> bool:
        """Take all steps that are left; False where the run was stopped before the end and can continue."""
        with interrupts.HeldBack() as interrupt:
            first, pending = self._resume()
            window = LogWindow(self.settings, self.model, self.engine, pending)
            if first == self.settings.steps:  # stopped after the last step, before the model was written
                self._export(first)
            steps = range(first, self.settings.steps)
            made = made_ahead(self.feed, steps, makers(self.engine.device))
            for step, parts in zip(steps, made, strict=True):
                sums, lengths, stop = self._learn(step, parts, stop_here=interrupt.asked)
                done = step + 1
                last = done == self.settings.steps
                window.add(sums, lengths)
                if done % self.request.log_steps == 0 or last:
                    self._write(done, window.figures(done))
                began = time.monotonic()
                if self.held_out is not None and (done % self.request.evaluate_steps == 0 or last):
                    self._evaluate(self.held_out, done)
                if done in self.request.export_at and not last:
                    self._export(done)
                if stop or (done % self.request.checkpoint_steps == 0) or last:
                    self._save(done, window.pending)
                if last:  # after the checkpoint: the model says that the run is finished, and nothing follows it
                    self._export(done)
                window.leave_out(time.monotonic() - began)
                if stop and not last:
                    return False
        return True

    def _resume(self) -> tuple[int, tuple[float, ...]]:
        """Restore the last checkpoint and cut the log back to its step.

        Give the step to continue with, and the sums for the next line of the log.
        """
        saved = self.checkpoints.last()
        step = 0 if saved is None else saved.step
        if not self.engine.agrees(step):
            raise RequestError(
                f"The processes find different checkpoints in {self.checkpoints.folder}: several machines need a "
                "folder that all of them see, or a copy each of the newest checkpoint."
            )
        if saved is not None:
            if not 0 < step <= self.settings.steps:
                raise CheckpointError(
                    f"{saved.folder} is said to be of step {step:,} of a run of {self.settings.steps:,} steps. "
                    f"{remedy(saved.folder)}"
                )
            check_same(with_steps_to_come(saved.facts, self.settings, step), self.facts, saved.folder)
            saved.restore(self.engine)
        if self.engine.rank == 0:
            self.checkpoints.sweep()
            step_log.cut_back(self.log, step)
        return step, () if saved is None else saved.pending

    def _learn(self, step: int, parts: list[Packed], *, stop_here: bool) -> tuple[Sums, np.ndarray, bool]:
        """Take one step with this process's instances, in parts. `stop_here` says that this process was asked to stop.

        Give the sums over all processes, the lengths of this process's sequences, and whether any process was asked to
        stop.
        """
        tokens = sum(len(part.targets["labels"]) for part in parts)
        pairs = sum(int((part.targets["is_next"] >= 0).sum()) for part in parts)
        all_tokens, all_pairs, stops = self.engine.summed(tokens, pairs, float(stop_here))
        if not all_tokens:
            raise DataError(f"Step {step + 1} has no token to predict: the vocabulary knows no word of this text.")
        total: Sums | None = None
        for number, part in enumerate(parts):
            dropout = Dropout(self.settings.seed, step, self.engine.rank, number)
            sums: Sums = self.engine(self._batch(part, dropout))
            # The loss is the mean over the whole batch, not over this process's part of it.
            loss = sums.loss(int(all_tokens), int(all_pairs))
            self.engine.backward(loss, last=number + 1 == len(parts))
            total = sums.detached() if total is None else total.plus(sums.detached())
        self.engine.step(step, self.settings.lr_at(step))
        assert total is not None
        lengths = np.concatenate([part.features.lengths for part in parts])
        return self._over_all_processes(total), lengths, stops > 0

    def _over_all_processes(self, sums: Sums) -> Sums:
        """Give the sums over all processes. They stay on the device: the log reads them once for many steps."""
        totals = self.engine.sums_of_all(torch.stack([value.double() for value in sums]))
        return Sums(*totals.float())

    def _batch(self, part: Packed, dropout: Dropout | None = None) -> PretrainingBatch:
        multiple = flat_batch.rounding(self.settings.precision, len(part.features.tokens))
        return part.on(self.engine.device, dropout=dropout, multiple=multiple, kernels=self.kernels)

    def _evaluate(self, instances: InstancesByLength, step: int) -> None:
        """Evaluate on the same held-out instances every time; the processes share the work."""
        length = self.settings.length_at(step - 1)
        parts = self.feed.held_out(instances, length, self.request.held_out_instances)
        self.model.eval()
        sums = summed(self.engine, map(self._batch, parts))
        self.model.train()
        figures = held_out_figures(self._over_all_processes(sums))
        self._write(step, {f"held_out_{name}": value for name, value in figures.items()})

    def _export(self, step: int) -> None:
        """Gather the weights from all processes, and let the first process write them."""
        weights = self.engine.weights()
        if self.engine.rank == 0:
            parameters = dict(self.model.named_parameters())
            kept = {name: parameter.data for name, parameter in parameters.items()}
            try:
                for name, weight in weights.items():
                    parameters[name].data = weight
                self.export(step)
            finally:
                for name, data in kept.items():
                    parameters[name].data = data

    def _save(self, step: int, pending: tuple[float, ...]) -> None:
        if not all(map(math.isfinite, pending)):  # of steps after the last line of the log
            raise self._divergence(step)
        self.checkpoints.save(step, self.facts, self.engine, pending=pending)

    def _write(self, step: int, figures: Mapping[str, Any]) -> None:
        """Write a line of the log; raise a `FitError` if the training has diverged."""
        if not math.isfinite(figures.get("loss", 0.0)):
            raise self._divergence(step)
        if self.engine.rank == 0:
            step_log.append(self.log, step, figures)
            self.request.tell(progress(step, figures))

    def _divergence(self, step: int) -> FitError:
        return FitError(
            f"The loss was not a finite number at step {step}: lower the learning rate or lengthen the warm-up, "
            f"remove {self.request.out} and start again."
        )
