"""BigBird attends to all tokens of a short sequence, and to blocks of tokens of a long sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

MODEL_TYPE = "big_bird"


def length_group(config: PreTrainedConfig) -> Callable[[int], int]:
    """Return a function that says which lengths may share a padded batch.

    The last block of a padded batch is seen by all tokens, so long sequences must end in the same block.
    """
    if config.attention_type != "block_sparse":
        return lambda length: 0
    longest_full = _longest_full(config)
    return lambda length: 0 if length <= longest_full else -(-length // config.block_size)


def choose_attention(model: PreTrainedModel, longest: int) -> bool:
    """Set the attention for a batch whose longest sequence has `longest` tokens; return whether it was another.

    The library changes to full attention by itself when it meets a short batch, and never back.
    """
    if model.config.attention_type != "block_sparse":
        return False
    kind = "original_full" if longest <= _longest_full(model.config) else "block_sparse"
    changed = bool(model.attention_type != kind)
    model.set_attention_type(kind)
    return changed


def _longest_full(config: PreTrainedConfig) -> int:
    """Return the longest sequence that is too short for blocks: see the forward pass of `BigBirdModel`."""
    return int((5 + 2 * config.num_random_blocks) * config.block_size)
