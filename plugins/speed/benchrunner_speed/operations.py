"""Floating-point operations of an encoder, counted from the shapes of its matrix products.

A product of a row with a matrix of m x n numbers is 2mn operations. Forward, sequences of n_1, n_2, ... tokens need

    per_token * sum(n_i) + per_pair * sum(n_i^2) + per_sequence * (number of sequences)

`per_token` is twice the weights of each linear layer that reads tokens, as often as the layer is called, which for
shared layers is more than once. `per_pair` is attention: 4 x hidden size for every layer, half of it for queries by
keys and half for probabilities by values, over all pairs of tokens of one sequence. Backward, each product becomes two,
the gradients of its input and of its weight. Norms, activations, softmax and embeddings count nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner import RequestError

if TYPE_CHECKING:
    from torch import Tensor, nn

    from benchrunner.engine import Encoder

LENGTHS = 8, 16
"""Tokens of the two sequences from which the operations of a token follow."""


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


def count_operations(encoder: Encoder, run: Callable[[int], None]) -> Operations:
    """Count what an encoder computes; `run` gives it one sequence with this number of tokens."""
    linear = list[float]()
    calls = 0
    for length in LENGTHS:
        with _counted(encoder) as counts:
            run(length)
        linear.append(sum(counts.products))
        calls = counts.layers
    short, long = LENGTHS
    per_token = (linear[1] - linear[0]) / (long - short)
    return Operations(per_token, 4.0 * encoder.hidden_size * calls, linear[0] - per_token * short)


@final
class _Counts:
    """What the modules of an encoder were called with."""

    def __init__(self) -> None:
        self.products = list[float]()
        """Operations of each call of a linear layer."""
        self.layers = 0
        """Calls of layers, each of which has one attention."""


@contextlib.contextmanager
def _counted(encoder: Encoder) -> Iterator[_Counts]:
    """Count the calls of linear layers and of layers within the `with` block."""
    from torch import nn

    counts = _Counts()
    matrices: list[tuple[nn.Module, int]] = [(module, parameter.numel()) for module, parameter in _bare(encoder)]
    for module in encoder.modules():
        if isinstance(module, nn.Linear):
            matrices.append((module, module.weight.numel()))
    hooks = [module.register_forward_hook(_product(counts, weights)) for module, weights in matrices]

    def called(*_: Any) -> None:
        counts.layers += 1

    try:
        layers = list(encoder.layers)
    except RequestError:  # the encoder does not say what its layers are: attention is not counted
        layers = []
    hooks += [layer.register_forward_pre_hook(called) for layer in layers]
    try:
        yield counts
    finally:
        for hook in hooks:
            hook.remove()
    # A layer that is a mere list of modules is called part by part, once.
    counts.layers = max(counts.layers, len(layers))


def _bare(encoder: Encoder) -> Iterator[tuple[nn.Module, Tensor]]:
    for module, name, _ in encoder.bare_matrices:
        yield module, getattr(module, name)


def _product(counts: _Counts, weights: int) -> Callable[..., None]:
    """Return a hook that counts a product of every row of the output with a matrix of so many weights."""
    import torch

    def hook(module: nn.Module, inputs: Any, output: Any) -> None:
        if isinstance(output, torch.Tensor):
            counts.products.append(2.0 * weights * output.numel() / output.shape[-1])

    return hook
