"""Figures of one line of the log: means over the steps since the line before, and how fast they were."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.sums import Sums

if TYPE_CHECKING:
    from benchrunner_bert.pretraining.deepspeed.engine import Engine
    from benchrunner_bert.pretraining.training.model import PretrainingModel

_SHOWN = (
    "loss",
    "mlm_loss",
    "mlm_accuracy",
    "nsp_accuracy",
    "sequences_per_second",
    "tokens_per_second",
    "utilisation",
    "held_out_perplexity",
    "held_out_nsp_accuracy",
)
"""Figures that a line of progress shows."""


def progress(step: int, figures: Mapping[str, Any]) -> str:
    """Give the line of progress for a line of the log."""
    shown = [f"{name.replace('_', ' ')} {value:.4g}" for name, value in figures.items() if name in _SHOWN]
    if "seconds_left" in figures:
        shown.append(f"about {figures['seconds_left'] / 60:.0f} min left")
    return f"step {step}: {', '.join(shown)}"


class LogWindow:
    """The steps since the last line of the log.

    Losses are means over all of them, also over steps that an earlier process took; rates are of this process only.
    """

    def __init__(
        self, settings: Settings, model: PretrainingModel, engine: Engine, pending: tuple[float, ...] = ()
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
        predicted = self._sums.mlm_count.item()
        lengths = np.concatenate(self._lengths)
        scale = self._steps * settings.batch_size / len(lengths)  # this process's share stands for the others' shares
        own = (predicted - self._earlier_tokens) / scale
        flops = scale * model.config.step_flops(lengths, own, next_sentence=model.objective.next_sentence)
        means = self._sums.means()
        figures: dict[str, Any] = {"loss": means["mlm_loss"] + means.get("nsp_loss", 0.0), **means}
        figures["lr"] = settings.lr_at(done - 1)
        figures["sequences_per_second"] = self._steps * settings.batch_size / seconds
        figures["tokens_per_second"] = scale * float(lengths.sum()) / seconds
        figures["flops_per_second"] = flops / seconds
        figures["utilisation"] = flops / self._world / seconds / self._peak
        figures["seconds_left"] = seconds / self._steps * (settings.steps - done)
        self._sums = None
        self._earlier_tokens = 0.0
        self._lengths = []
        self._steps = 0
        self._began = time.monotonic()
        return figures


def measured_peak(device: torch.device, kind: torch.dtype, *, repeats: int = 5) -> float:
    """Measure the operations per second of a large square product; the fastest repeat counts.

    The numbers are random: with equal numbers a GPU needs less power, and reaches a speed that no training has.
    """
    size = 1024 if device.type == "cpu" else 8192
    source = torch.Generator(device).manual_seed(0)
    left = torch.randn(size, size, generator=source, device=device).to(kind)
    right = torch.randn(size, size, generator=source, device=device).to(kind)
    return 2 * size**3 / min(_seconds(left, right) for _ in range(1 + repeats))


def _seconds(left: torch.Tensor, right: torch.Tensor) -> float:
    started = time.perf_counter()
    # Reading a number of the result waits for the accelerator.
    (left @ right)[0, 0].item()
    return time.perf_counter() - started
