"""Refuse a tokenizer.json that makes a long text of a short one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner import CheckpointError
from benchrunner_checkpoints.tokens.word_cache import described_part

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_LARGEST_GROWTH = 100
"""Characters that a normalizer may make of one character, or put before a text. Published tokenizers add one."""
_LARGEST_ID = 10_000_000
_MOST_SPECIAL_TOKENS = 100
"""Special tokens that may stand around a pair of texts. Published tokenizers have four."""


def check_limits(tokenizer: Tokenizer, origin: Path | str) -> None:
    """Raise a `CheckpointError` for a tokenizer with huge token ids, or that adds too much to a text.

    No text is encoded, and the tokenizer is not copied: a copy needs memory for every id up to the largest.
    """
    check_ids(tokenizer.get_vocab(with_added_tokens=True).values(), origin)
    growth = 1
    added = 0
    for step in _steps(described_part(tokenizer.normalizer)):
        if step.get("type") == "Replace":
            growth *= max(1, len(str(step.get("content", ""))))
        if step.get("type") == "Prepend":
            added += len(str(step.get("prepend", ""))) * growth
        if max(growth, added) > _LARGEST_GROWTH:
            raise CheckpointError(
                f"{origin}: the normalizer makes more than {_LARGEST_GROWTH} characters of one character, or puts them "
                "before each text. No published tokenizer does; get the file again from its source."
            )
    if (count := tokenizer.num_special_tokens_to_add(True)) > _MOST_SPECIAL_TOKENS:
        raise CheckpointError(
            f"{origin}: the tokenizer puts {count:,} special tokens around a pair of texts; published tokenizers put "
            "four. Get the file again from its source."
        )


def check_ids(ids: Iterable[object], origin: Path | str) -> None:
    """Raise a `CheckpointError` for token ids beyond every vocabulary that was ever published."""
    if (largest := max((number for number in ids if isinstance(number, int)), default=0)) > _LARGEST_ID:
        raise CheckpointError(
            f"{origin}: a token has the id {largest:,}; the largest vocabularies have a million tokens. Get the file "
            "again from its source."
        )


def _steps(normalizer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Give the steps of a normalizer in their order."""
    yield normalizer
    for step in normalizer.get("normalizers", ()):
        yield from _steps(step)
