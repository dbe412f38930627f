"""The last layer of a model of transformers, computed for some tokens only: those whose states are read.

After its attention, a layer treats every token by itself. A summary that reads one token of each sequence therefore
needs the rest of the last layer for few tokens, in a model of six layers a tenth of all computation.

The library's layers have no such option, and each family writes its own. `narrow` therefore lets a layer run twice: up
to the attention with all tokens, where an exception ends it, then whole with the few tokens, where the attention
returns what the first pass computed for them. It works wherever the attention is the only place at which tokens meet;
`reads_last_tokens` in flat_attention.py tries it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from benchrunner.engine import FlatBatch

ARGUMENT = "flat_pass"
"""Name under which models pass a `FlatPass` on to their layers and attention functions."""


@dataclass(frozen=True)
class FlatPass:
    """A forward pass over a flat batch, as the attention function sees it."""

    batch: FlatBatch
    tokens: torch.Tensor | None = None
    """Indices of the tokens whose states of the last layer are read; None: all states are read."""
    only_attention: bool = False
    """Whether the layer ends at its attention, with an `Attended`."""
    context: torch.Tensor | None = None
    """The attention's result, if it is known: (1, tokens, heads, size)."""


class Attended(Exception):
    """Ends a layer at its attention, whose result it brings."""

    def __init__(self, context: torch.Tensor) -> None:
        super().__init__()
        self.context = context


def narrow(layer: nn.Module) -> None:
    """Let a layer compute only the tokens that its `FlatPass` asks for."""
    forward = layer.forward

    def narrowed(*arguments: Any, **named: Any) -> Any:
        asked = named.get(ARGUMENT)
        if not isinstance(asked, FlatPass) or asked.tokens is None:
            return forward(*arguments, **named)
        try:
            forward(*arguments, **{**named, ARGUMENT: replace(asked, only_attention=True)})
        except Attended as attended:
            context = attended.context.index_select(1, asked.tokens)
        else:
            raise ValueError("The last layer has no attention of the library's kind.")
        few = _selected((arguments, named), asked.tokens, len(asked.batch.tokens))
        return forward(*few[0], **{**few[1], ARGUMENT: replace(asked, context=context)})

    layer.forward = narrowed


def widen(layer: nn.Module) -> None:
    """Take back what `narrow` did."""
    del layer.forward


def _selected(value: Any, tokens: torch.Tensor, count: int) -> Any:
    """Select tokens in all tensors (1, count, ...) of nested arguments; other values stay as they are."""
    if isinstance(value, torch.Tensor):
        return value.index_select(1, tokens) if value.shape[:2] == (1, count) else value
    if isinstance(value, dict):
        return {key: _selected(part, tokens, count) for key, part in value.items()}
    if type(value) in (tuple, list):
        return type(value)(_selected(part, tokens, count) for part in value)
    return value
