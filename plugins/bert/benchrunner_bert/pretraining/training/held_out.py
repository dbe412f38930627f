"""How well a model predicts what it was not trained on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from benchrunner import Undefined
from benchrunner_bert.pretraining.training.sums import Sums

if TYPE_CHECKING:
    from benchrunner_bert.pretraining.instances.batches import PretrainingBatch


@dataclass(frozen=True)
class HeldOut:
    """The figures of a pass over held-out instances."""

    mlm_loss: float
    """The mean over all predicted tokens, in nats."""
    perplexity: float
    """e to that: over masked tokens for masked models, as in Table 6; over every next token for left-to-right ones."""
    mlm_accuracy: float
    nsp_loss: float | None
    """None where the objective has no next sentences, as is its accuracy."""
    nsp_accuracy: float | None
    tokens: int
    """Predictions that were looked at."""
    pairs: int | None
    """Next sentences that were."""

    @classmethod
    def of(cls, sums: Sums) -> HeldOut:
        """From the sums over all batches, and over all ranks where there are several."""
        loss, count, correct, nsp_loss, nsp_count, nsp_correct = (one.item() for one in sums)
        if not count:
            raise Undefined("No held-out token was predicted: at least one batch of instances is needed.")
        mean = loss / count
        return cls(
            mlm_loss=mean,
            perplexity=math.inf if mean > _LARGEST else math.exp(mean),
            mlm_accuracy=correct / count,
            nsp_loss=nsp_loss / nsp_count if nsp_count else None,
            nsp_accuracy=nsp_correct / nsp_count if nsp_count else None,
            tokens=int(count),
            pairs=int(nsp_count) or None,
        )


_LARGEST = 709.0
"""What a double can still take to the power of."""


def summed(
    model: Callable[[PretrainingBatch], Sums], batches: Iterable[PretrainingBatch], *, precision: str = "fp32"
) -> Sums:
    """The sums over some batches, in double precision; batches drop nothing unless they were made to."""
    total = Sums(*(torch.zeros((), dtype=torch.float64) for _ in Sums._fields))
    for batch in batches:
        device = batch.flat.tokens.device
        with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            found = model(batch)
        total = Sums(*(one.to(device) + another for one, another in zip(total, found, strict=True)))
    return total
