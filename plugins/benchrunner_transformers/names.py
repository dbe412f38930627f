"""Names of files of weights, references to folders and hub ids, and the released models that models.toml lists."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self, final

WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
"""Files of weights; the first that exists is read. An index lists several files.

Only torch's weights_only loader opens a .bin file.
"""
SUMMARY = "summary.safetensors"
"""File in the folder of a fit with the weights between encoder and output layer."""
ENCODER = ":encoder"
"""End of a reference to the encoder of a model that has an encoder and a decoder."""


@final
@dataclass(frozen=True)
class Reference:
    """A reference that was taken apart."""

    model: str
    """Folder or hub id, perhaps with @REVISION."""
    encoder_only: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Take a reference apart."""
        return cls(text.removesuffix(ENCODER), text.endswith(ENCODER))

    def released(self) -> tuple[Self, str] | None:
        """Return the reference to a released model that this names, with its description; None for other models."""
        name, at, revision = self.model.partition("@")
        for text, about in released_models().items():
            model = text.removesuffix(ENCODER)
            if name in (model, model.rpartition("/")[2]):
                return type(self)(f"{model}{at}{revision}", self.encoder_only), about
        return None


@cache
def released_models() -> Mapping[str, str]:
    """Read the released models: hub id, with the suffix of a part -> description."""
    return tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))
