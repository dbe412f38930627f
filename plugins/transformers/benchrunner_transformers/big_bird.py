"""BigBird attends to all tokens of a short sequence, and to blocks of tokens of a long sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

MODEL_TYPE = "big_bird"
SPARSE = "block_sparse"
"""Kind of attention to blocks of tokens; the other kind is `original_full`."""


def length_group(config: PreTrainedConfig) -> Callable[[int], int]:
    """Return a function that says which lengths may share a padded batch.

    The last block of a padded batch is seen by all tokens, so long sequences must end in the same block.
    """
    if config.attention_type != SPARSE:
        return lambda length: 0
    longest_full = _longest_full(config)
    return lambda length: 0 if length <= longest_full else -(-length // config.block_size)


def attention_for(model: PreTrainedModel, longest: int) -> str:
    """Return the kind of attention for a batch whose longest sequence has `longest` tokens.

    The library changes to full attention by itself when it meets a short batch, and never back.
    """
    is_full = model.config.attention_type != SPARSE or longest <= _longest_full(model.config)
    return "original_full" if is_full else SPARSE


def set_attention(model: PreTrainedModel, kind: str) -> bool:
    """Set the kind of attention; return whether it was another. The library's new modules draw no random numbers."""
    if model.attention_type == kind:
        return False
    with torch.random.fork_rng(devices=[]):
        model.set_attention_type(kind)
    return True


def _longest_full(config: PreTrainedConfig) -> int:
    """Return the longest sequence that is too short for blocks: see the forward pass of `BigBirdModel`."""
    return int((5 + 2 * config.num_random_blocks) * config.block_size)
