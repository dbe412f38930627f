"""Recomputation: a layer computes its forward pass again in the backward pass, instead of storing all it computed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def recompute(
    layer: nn.Module, *, again: Callable[[], AbstractContextManager[None]] = lambda: nullcontext(None)
) -> None:
    """Let a layer keep only its input in a forward pass with gradients, and compute the rest again when it is needed.

    Torch's generators draw the same numbers in both passes. `again` is called in the forward pass, and returns the
    context of the second pass: for models whose settings may have changed in between.
    """
    forward = layer.forward

    def called(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return forward(*arguments, **named)

    def recomputed(*arguments: Any, **named: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*arguments, **named)
        context = again()
        # Arguments by name are passed on as values, so that torch sees on which devices they are.
        return checkpoint(called, arguments, named, use_reentrant=False, context_fn=lambda: (nullcontext(), context))

    layer.forward = recomputed
