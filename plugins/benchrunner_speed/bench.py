"""An encoder whose forward passes and training steps are timed, over batches of equally long sequences."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
import torch
from torch import nn

from benchrunner import Recipe
from benchrunner.engine import Dropout, Encoder, Features, FlatBatch, collate, flat_batch, flushed_denormals, optimizer
from benchrunner_speed.peak_memory import peak_bytes

TEXT = (
    "the a of and to in that it was he for on are with as his they at be this from had not by word but what some we "
    "can out other were all there when up use your how said an each she which do their time if will way about many "
)
"""Frequent English words, of which texts are made: what a text says does not change how long it takes."""
LEAST_SECONDS = 0.2
"""A timing is over as many passes as take this long, so that the clock and the call of the timer are no part of it."""
LABELS = 2
"""Labels of the head that training steps train with the encoder."""
RATE = 1e-5
"""Learning rate of training steps."""


@final
@dataclass(frozen=True)
class Facts:
    """What an encoder is, whatever the machine."""

    parameters: int
    max_length: int


@final
class Bench:
    """Runs passes of one encoder and returns their seconds."""

    def __init__(self, encoder: Encoder, device: str, precision: str) -> None:
        self._encoder = encoder.to(device)
        self._device = torch.device(device)
        self._precision = precision
        self._head = nn.Linear(encoder.hidden_size, LABELS, device=device)
        self._optimizer: optimizer.Optimizer | None = None
        self._steps = 0
        self._batch = lru_cache(maxsize=64)(self._collated)

    def facts(self) -> Facts:
        """Count parameters, and say how much the encoder reads."""
        return Facts(sum(weight.numel() for weight in self._encoder.parameters()), self._encoder.max_length)

    def predict(self, sequences: int, length: int, passes: int) -> float:
        """Return the seconds of one forward pass: the mean of some passes."""
        self._batch(sequences, length)
        self._encoder.eval()
        return self._timed(lambda: self._forward(sequences, length), passes)

    def passes(self, sequences: int, length: int) -> int:
        """Warm up, and return how many forward passes take `LEAST_SECONDS`."""
        self.predict(sequences, length, 1)
        seconds = self.predict(sequences, length, 1)
        return max(1, round(LEAST_SECONDS / seconds))

    def train(self, sequences: int, length: int, passes: int) -> float:
        """Return the seconds of one training step of the encoder and a linear head: the mean of some steps."""
        with flushed_denormals():
            return self._timed(lambda: self._step(sequences, length), passes)

    def peak(self) -> int:
        """Return the most bytes that this process has had in memory."""
        return peak_bytes(str(self._device))

    def _timed(self, work: Callable[[], object], passes: int) -> float:
        self._wait()
        started = time.perf_counter()
        for _ in range(passes):
            work()
        self._wait()
        return (time.perf_counter() - started) / passes

    def _wait(self) -> None:
        """Wait until an accelerator has done what it was given."""
        if self._device.type != "cpu":
            torch.accelerator.synchronize(self._device)

    def _features(self, sequences: int, length: int) -> Features:
        """Encode texts that are too long, so that each sequence has as many tokens as the length allows."""
        text = TEXT * (1 + length // len(TEXT.split()))
        return Features.of(self._encoder.assemble([text] * sequences, None, length))

    def _collated(self, sequences: int, length: int) -> FlatBatch:
        multiple = flat_batch.rounding(self._precision, sequences * length)
        features = self._features(sequences, length)
        return collate(features, np.arange(sequences), self._device, multiple=multiple)

    def _forward(self, sequences: int, length: int) -> None:
        """Compute the states of all tokens."""
        with torch.inference_mode(), self._precise():
            self._encoder(self._batch(sequences, length))

    def _precise(self) -> torch.autocast:
        return torch.autocast(self._device.type, torch.bfloat16, enabled=self._precision == "bf16")

    def _step(self, sequences: int, length: int) -> None:
        """Take one optimizer step, as fine-tuning to a task of sentences takes it."""
        learned = self._optimizer or optimizer.Optimizer({"encoder": self._encoder, "head": self._head}, Recipe())
        self._optimizer = learned  # made late, so that a process that only predicts holds no gradients
        self._encoder.train()
        features = self._features(sequences, length)
        multiple = flat_batch.rounding(self._precision, sequences * length)
        dropout = Dropout(0, self._steps, 0)
        batch = collate(features, np.arange(sequences), self._device, dropout=dropout, multiple=multiple)
        learned.clear()
        with self._precise():
            logits = self._head(self._encoder.summarized(batch)).float()
        labels = torch.zeros(sequences, dtype=torch.int64, device=self._device)
        nn.functional.cross_entropy(logits, labels).backward()  # type: ignore[no-untyped-call]
        learned.step(self._steps, RATE)
        self._steps += 1
