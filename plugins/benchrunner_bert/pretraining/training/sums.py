"""Sums of losses and hits over a batch."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Sums(NamedTuple):
    """Sums over the predictions of a batch: tensors without dimensions, on the device.

    The caller computes means, over as many micro-batches and processes as there are. `mlm` stands for predicted tokens,
    also with the left-to-right objective, and `nsp` for predicted next sentences. This is a tuple because ZeRO's third
    stage searches tuples for the tensors that a backward pass starts from.
    """

    mlm_loss: torch.Tensor
    mlm_count: torch.Tensor
    mlm_correct: torch.Tensor
    nsp_loss: torch.Tensor
    nsp_count: torch.Tensor
    nsp_correct: torch.Tensor

    def loss(self, tokens: int, next_sentences: int) -> torch.Tensor:
        """Give this batch's share of the loss of a whole batch of so many predictions.

        The loss is the mean over tokens, plus the mean over next sentences.
        """
        return self.mlm_loss / tokens + self.nsp_loss * (1.0 / max(1, next_sentences))

    def detached(self) -> Sums:
        """Give the sums without their graph of gradients."""
        return Sums(*(value.detach() for value in self))

    def plus(self, sums: Sums) -> Sums:
        """Add the sums of another batch."""
        return Sums(*(value + more for value, more in zip(self, sums, strict=True)))

    def means(self) -> dict[str, float]:
        """Give the mean losses in nats and the accuracies, those of next sentences only where some were predicted."""
        loss, count, correct, nsp_loss, pairs, nsp_correct = (value.item() for value in self)
        means = {"mlm_loss": loss / count, "mlm_accuracy": correct / count}
        if pairs:
            means |= {"nsp_loss": nsp_loss / pairs, "nsp_accuracy": nsp_correct / pairs}
        return means
