"""Sums of losses and hits over a batch."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Sums(NamedTuple):
    """Sums over the predictions of a batch: tensors without dimensions, on the device.

    The caller computes means, over as many micro-batches and processes as there are. `mlm` stands for predicted tokens,
    also with the left-to-right objective, and `further` for what is predicted beside them: `Objective.further`. This is
    a tuple because ZeRO's third stage searches tuples for the tensors that a backward pass starts from.
    """

    mlm_loss: torch.Tensor
    mlm_count: torch.Tensor
    mlm_correct: torch.Tensor
    further_loss: torch.Tensor
    further_count: torch.Tensor
    further_correct: torch.Tensor

    def loss(self, tokens: int, further: int, weight: float = 1.0) -> torch.Tensor:
        """Give this batch's share of the loss of a whole batch of so many predictions.

        The loss is the mean over tokens, plus `weight` times the mean over what is predicted beside them.
        """
        return self.mlm_loss / tokens + self.further_loss * (weight / max(1, further))

    def detached(self) -> Sums:
        """Give the sums without their graph of gradients."""
        return Sums(*(value.detach() for value in self))

    def plus(self, sums: Sums) -> Sums:
        """Add the sums of another batch."""
        return Sums(*(value + more for value, more in zip(self, sums, strict=True)))
