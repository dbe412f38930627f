"""Models that attend to a part of the tokens: BigBird to blocks of them, Longformer to a window and to global tokens.

BigBird attends to all tokens of a short sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from benchrunner_transformers.checkpoint.published_heads import Kind

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

BIG_BIRD = "big_bird"
LONGFORMER = "longformer"
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


def global_tokens(tokens: torch.Tensor, kind: Kind | None, separator: int) -> torch.Tensor | None:
    """Return the mask of Longformer's tokens with global attention, int64 (sequences, length); None for none.

    These are the question's tokens for spans, those of the second text for choices, and the first token otherwise.
    Models for tags have none (Beltagy et al. 2020, and the library's classes).
    """
    if kind == "TOKEN_CLASSIFICATION":
        return None
    places = torch.arange(tokens.shape[1], device=tokens.device)
    if kind in ("QUESTION_ANSWERING", "MULTIPLE_CHOICE"):
        first_end = (tokens == separator).long().argmax(1, keepdim=True)
        chosen = places < first_end if kind == "QUESTION_ANSWERING" else places > first_end + 1
        return chosen.long()
    return (places == 0).long().expand_as(tokens)
