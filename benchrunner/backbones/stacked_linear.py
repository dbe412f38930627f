"""A linear layer that computes several published linear layers with one product."""

from __future__ import annotations

from typing import final

from torch import nn


@final
class StackedLinear(nn.Linear):
    """Linear layer whose weight has several matrices of equal size, one below the other: query, key and value.

    The method `lora` updates each of the matrices as a layer of its own, as it would if they were not stacked.
    """

    def __init__(self, inputs: int, outputs: int, *, count: int) -> None:
        """Make `count` matrices (outputs, inputs)."""
        super().__init__(inputs, count * outputs)
        self.count = count
