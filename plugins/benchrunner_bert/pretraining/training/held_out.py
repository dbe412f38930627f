"""Evaluate a model on held-out instances."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch

from benchrunner import Undefined
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch
from benchrunner_bert.pretraining.training.sums import Sums

_LARGEST_EXPONENT = 709.0
"""e to this power still is a finite double."""


def held_out_figures(sums: Sums) -> dict[str, float]:
    """Give the figures of a pass over held-out instances from the sums over all batches and all processes.

    The perplexity is exp(mlm_loss): over masked tokens as in Table 6, or over all tokens with the objective `ltr`.
    """
    if not sums.mlm_count:
        raise Undefined(
            "No held-out token was predicted: the vocabulary knows no word of the sequences that were made of the "
            "held-out text. Give more text with --held-out, and another --out: these texts are those of the run."
        )
    means = sums.means()
    loss = means.pop("mlm_loss")
    perplexity = math.inf if loss > _LARGEST_EXPONENT else math.exp(loss)
    figures = {"mlm_loss": loss, "perplexity": perplexity, **means, "tokens": int(sums.mlm_count)}
    if sums.nsp_count:
        figures["pairs"] = int(sums.nsp_count)
    return figures


def summed(model: Callable[[PretrainingBatch], Sums], batches: Iterable[PretrainingBatch]) -> Sums:
    """Add up the sums of batches in double precision, without gradients."""
    total = Sums(*(torch.zeros((), dtype=torch.float64) for _ in Sums._fields))
    for batch in batches:
        with torch.no_grad():
            total = total.plus(model(batch))  # a number on the CPU can be added to one on a device
    return total
