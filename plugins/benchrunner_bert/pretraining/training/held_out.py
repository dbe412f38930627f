"""Evaluate a model on held-out instances."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from benchrunner import Undefined
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch
from benchrunner_bert.pretraining.training.sums import Sums

_LARGEST_EXPONENT = 709.0
"""e to this power still is a finite double."""


@dataclass(frozen=True)
class HeldOut:
    """The figures of a pass over held-out instances."""

    mlm_loss: float
    """Mean over all predicted tokens, in nats."""
    perplexity: float
    """exp(mlm_loss): over masked tokens as in Table 6, or over all tokens with the objectives `ltr` and `rtl`."""
    mlm_accuracy: float
    nsp_loss: float | None
    """None where the objective has no next sentences."""
    nsp_accuracy: float | None
    """None where the objective has no next sentences."""
    tokens: int
    """Number of predicted tokens."""
    pairs: int | None
    """Number of predicted next sentences."""

    @classmethod
    def of(cls, sums: Sums) -> HeldOut:
        """Compute the figures from the sums over all batches and all processes."""
        loss, count, correct, nsp_loss, pairs, nsp_correct = (value.item() for value in sums)
        if not count:
            raise Undefined(
                "No held-out token was predicted: the vocabulary knows no word of the sequences that were made of the "
                "held-out text. Give more text with --held-out, and another --out: these texts are those of the run."
            )
        mean = loss / count
        return cls(
            mlm_loss=mean,
            perplexity=math.inf if mean > _LARGEST_EXPONENT else math.exp(mean),
            mlm_accuracy=correct / count,
            nsp_loss=nsp_loss / pairs if pairs else None,
            nsp_accuracy=nsp_correct / pairs if pairs else None,
            tokens=int(count),
            pairs=int(pairs) if pairs else None,
        )


def summed(model: Callable[[PretrainingBatch], Sums], batches: Iterable[PretrainingBatch]) -> Sums:
    """Add up the sums of batches in double precision, without gradients."""
    total = Sums(*(torch.zeros((), dtype=torch.float64) for _ in Sums._fields))
    for batch in batches:
        device = batch.flat.tokens.device
        with torch.no_grad():
            sums = model(batch)
        total = Sums(*(value.to(device) + more for value, more in zip(total, sums, strict=True)))
    return total
