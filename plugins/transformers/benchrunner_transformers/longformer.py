"""Longformer's global attention: the tokens that attend to all tokens, as the published classes choose them."""

from __future__ import annotations

import torch

from benchrunner_transformers.published_heads import Kind

MODEL_TYPE = "longformer"


def global_tokens(tokens: torch.Tensor, kind: Kind | None, separator: int) -> torch.Tensor | None:
    """Return the mask of the tokens with global attention, int64 (sequences, length); None for none.

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
