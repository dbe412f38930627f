"""Figures of one line of the log: means over the steps since the line before, and how fast they were."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.flops import measured_peak, utilisation
from benchrunner_bert.pretraining.training.sums import Sums

if TYPE_CHECKING:
    from benchrunner_bert.pretraining.deepspeed.engine import Engine
    from benchrunner_bert.pretraining.training.trained_model import TrainedModel


class LogWindow:
    """The steps since the last line of the log.

    Losses are means over all of them, also over steps that an earlier process took; rates are of this process only.
    """

    def __init__(
        self, settings: Settings, model: TrainedModel, engine: Engine, pending: tuple[float, ...] = ()
    ) -> None:
        """`pending` holds the sums of the earlier process's window; it is empty where that window had no steps."""
        kind = torch.bfloat16 if settings.precision == "bf16" else torch.float32
        self._settings = settings
        self._model = model
        self._world = engine.world
        self._peak = measured_peak(engine.device, kind)
        self._steps = 0
        self._began = time.monotonic()
        self._sums = Sums(*torch.tensor(pending, device=engine.device)) if pending else None
        self._earlier_tokens = pending[1] if pending else 0.0
        self._lengths = list[np.ndarray]()

    def add(self, sums: Sums, lengths: np.ndarray) -> None:
        """Count one step: its sums over all processes, and the lengths of this process's sequences."""
        self._sums = sums if self._sums is None else self._sums.plus(sums)
        self._lengths.append(lengths)
        self._steps += 1

    @property
    def pending(self) -> tuple[float, ...]:
        """The sums so far as numbers; empty where no step was taken since the last line of the log."""
        return () if self._sums is None else tuple(torch.stack(self._sums).tolist())

    def leave_out(self, seconds: float) -> None:
        """Leave out time that was not spent on training steps."""
        self._began += seconds

    def figures(self, done: int) -> dict[str, Any]:
        """Give the figures of the log's line for step `done`, and start a new window."""
        assert self._sums is not None
        settings = self._settings
        model = self._model
        seconds = time.monotonic() - self._began
        loss, count, correct, nsp_loss, pairs, nsp_correct = self.pending
        lengths = np.concatenate(self._lengths)
        scale = self._steps * settings.batch_size / len(lengths)  # this process's share stands for the others' shares
        flops = scale * model.config.step_flops(lengths, 0, next_sentence=model.objective.next_sentence)
        flops += model.config.step_flops(lengths[:0], int(count - self._earlier_tokens), next_sentence=False)
        mlm_loss = loss / count
        figures: dict[str, Any] = {"loss": mlm_loss, "mlm_loss": mlm_loss, "mlm_accuracy": correct / count}
        if pairs:
            figures["nsp_loss"] = nsp_loss / pairs
            figures["nsp_accuracy"] = nsp_correct / pairs
            figures["loss"] += figures["nsp_loss"]
        figures["lr"] = settings.lr_at(done - 1)
        figures["sequences_per_second"] = self._steps * settings.batch_size / seconds
        figures["tokens_per_second"] = scale * float(lengths.sum()) / seconds
        figures["flops_per_second"] = flops / seconds
        figures["utilisation"] = utilisation(flops / self._world, seconds, self._peak)
        figures["seconds_left"] = seconds / self._steps * (settings.steps - done)
        self._sums = None
        self._earlier_tokens = 0.0
        self._lengths = []
        self._steps = 0
        self._began = time.monotonic()
        return figures
