"""Dropout of the library's modules: its rate, and its random numbers, which depend only on seed, step and place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

import torch
from torch import nn

from benchrunner import CheckpointError
from benchrunner.engine import Dropout, randomness

RATES = (
    "hidden_dropout_prob",
    "dropout",
    "resid_pdrop",
    "hidden_dropout",
    "dropout_rate",
    "mlp_dropout",
)
"""Settings that hold the dropout rate of a model's layers; the first that a configuration has counts."""
_ATTRIBUTES = (
    "activation_dropout",
    "attention_dropout",
    "attn_pdrop",
    "dropout",
    "dropout_prob",
    "dropout_rate",
    "embedding_dropout",
    "hidden_dropout",
    "mlp_dropout",
    "resid_pdrop",
)
"""Attributes in which modules of the library keep a rate for `functional.dropout` or an attention kernel."""


@final
class DrawnDropout(nn.Dropout):
    """Dropout whose mask is drawn by benchrunner: on a CPU 15 times as fast as the mask that torch draws.

    The seed of each mask comes from torch's global generator, so that a layer that is computed again for its gradients
    draws the same mask. On a GPU torch draws the mask itself, in the kernel that applies it.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training or self.p == 0:
            return x
        if randomness.torch_draws_masks(x.device):
            return torch.native_dropout(x, self.p, True)[0]
        seed = int(torch.randint(2**62, (), dtype=torch.int64))
        return Dropout(seed)(x, self.p, "mask")


def replace(model: nn.Module) -> None:
    """Replace the dropout layers of a model by `DrawnDropout` with the same rates."""
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if type(child) is nn.Dropout:
                setattr(parent, name, DrawnDropout(child.p).train(child.training))


def configured_rate(config: object) -> float:
    """Return the dropout rate of the layers that a configuration names; 0 if it names none."""
    for name in RATES:
        if isinstance(rate := getattr(config, name, None), float | int):
            if not 0 <= rate < 1:
                raise CheckpointError(f"config.json: {name} must be a number from 0 to below 1, not {rate}.")
            return float(rate)
    return 0.0


def set_rate(model: nn.Module, rate: float) -> None:
    """Set the dropout rate of all modules: of dropout layers, and of modules that keep a rate as an attribute."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
        for name in _ATTRIBUTES:
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, rate)


@contextmanager
def drawn_from(dropout: Dropout, site: str, device: torch.device) -> Iterator[None]:
    """Draw torch's random numbers from the seed of one place in a forward pass, and restore its generators after it.

    The library's modules draw their masks from torch's global generators. With the seed of the place, a training that
    is resumed draws the masks that it would have drawn. A CUDA graph would keep what is drawn on the CPU: an error is
    raised if anything is.
    """
    with torch.random.fork_rng(devices=[]), dropout.drawing(site, device, alone=True):
        if dropout.recorded:
            before = torch.get_rng_state()
            yield
            if not torch.equal(torch.get_rng_state(), before):
                raise RuntimeError(f"a CUDA graph would keep the random numbers that '{site}' draws on the CPU")
            return
        torch.default_generator.manual_seed(dropout.seed(site))
        yield
