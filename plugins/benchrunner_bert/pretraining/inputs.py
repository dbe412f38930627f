"""Inputs of pre-training: what a training sequence is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Input:
    """A row of the table of inputs."""

    name: str
    about: str
    """What a sequence holds, in a few words."""
    pairs: bool = False
    """Whether a sequence has two spans, of which the second may come from another document."""
    special_tokens: bool = True
    """Whether [CLS] and [SEP] stand around the text."""


_ROWS = (
    Input("pairs", "[CLS] A [SEP] B [SEP]: two spans, which follow each other half of the time", pairs=True),
    Input("document", "[CLS] text [SEP]: a stretch of one document"),
    Input("text", "a stretch of one document, without special tokens", special_tokens=False),
)

INPUTS: Mapping[str, Input] = {row.name: row for row in _ROWS}
"""Names that `--input` takes -> inputs."""
