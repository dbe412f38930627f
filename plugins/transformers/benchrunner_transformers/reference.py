"""References to models: a folder or a hub id, with a suffix for a part of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, final

ENCODER = ":encoder"
"""End of a reference to the encoder of a model that has an encoder and a decoder."""


@final
@dataclass(frozen=True)
class Reference:
    """A reference that was taken apart."""

    model: str
    """Folder or hub id."""
    encoder_only: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Take a reference apart."""
        return cls(text.removesuffix(ENCODER), text.endswith(ENCODER))
