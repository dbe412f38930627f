"""Floating-point operations of an encoder, counted from the shapes of its matrix products.

A product of matrices (m, k) and (k, n) is 2mkn operations. Forward, sequences of n_1, n_2, ... tokens need

    per_token * sum(n_i) + per_pair * sum(n_i^2) + per_sequence * (number of sequences)

For BERT, `per_token` is 2 x (4 x hidden^2 + 2 x hidden x inner) and `per_pair` is 4 x hidden, half of it for queries by
keys and half for probabilities by values, both for each layer. The products that run are counted at three lengths,
which gives the three numbers for any architecture, also for layers that share weights. Backward, each product becomes
two: the gradients of its input and of its weight. Norms, activations, softmax and embeddings count nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

LONGEST = 64
"""Tokens of the longest sequence at which products are counted; the others have a half and a quarter of them."""


@final
@dataclass(frozen=True)
class Operations:
    """Operations of a forward pass that computes the states of all tokens."""

    per_token: float
    per_pair: float
    per_sequence: float = 0.0

    def forward(self, sequences: int, length: int) -> float:
        """Count the operations of a batch of equally long sequences."""
        tokens = sequences * length
        return self.per_token * tokens + self.per_pair * tokens * length + self.per_sequence * sequences

    def of_fit(self, tokens: float, pairs: float, trained: float, frozen: float) -> float:
        """Count the operations of a training over real tokens and pairs, forward and backward.

        A trained matrix needs three products, a frozen one two: the gradient of its weight is left out.
        """
        products = (3 * trained + 2 * frozen) / (trained + frozen)
        return products * (self.per_token * tokens + self.per_pair * pairs)


def count_operations(run: Callable[[int], object], max_length: int) -> Operations:
    """Count what an encoder computes; `run` gives it one sequence with this number of tokens."""
    longest = min(LONGEST, max_length)
    lengths = (longest // 4, longest // 2, longest)
    counts = [_counted(run, length) for length in lengths]
    per_pair, per_token, per_sequence = np.linalg.solve(np.vander(lengths), counts).round(3).tolist()
    return Operations(per_token, per_pair, per_sequence)


def _counted(run: Callable[[int], object], length: int) -> float:
    products = _Products()  # type: ignore[no-untyped-call]
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), products:
        run(length)
    return products.operations


@final
class _Products(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operations of the matrix products that run within the `with` block, by torch's own table."""

    operations = 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        count = flop_registry.get(func._overloadpacket)
        if count is not None:
            self.operations += count(*args, **(kwargs or {}), out_val=result)
        return result
