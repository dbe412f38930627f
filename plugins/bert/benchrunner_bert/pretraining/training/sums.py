"""Sums of losses and hits over a batch."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Sums(NamedTuple):
    """What a batch's losses and hits add up to; means over many micro-batches and ranks are left to the caller.

    All are tensors without dimensions, still on the device. `mlm` is about tokens, the left-to-right objective's too.
    A tuple, because that is where ZeRO's third stage looks for tensors that a backward pass starts from.
    """

    mlm_loss: torch.Tensor
    mlm_count: torch.Tensor
    mlm_correct: torch.Tensor
    nsp_loss: torch.Tensor
    nsp_count: torch.Tensor
    nsp_correct: torch.Tensor

    def loss(self, tokens: int, sequences: int) -> torch.Tensor:
        """This batch's share of mean MLM + mean NSP over a recipe batch of so many predictions and sequences."""
        return self.mlm_loss / tokens + self.nsp_loss / max(1, sequences)

    def detached(self) -> Sums:
        return Sums(*(one.detach() for one in self))

    def plus(self, other: Sums) -> Sums:
        return Sums(*(one + another for one, another in zip(self, other, strict=True)))
