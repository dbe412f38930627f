"""The tiny encoder as a backbone, and as a family for `register_backbones`."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchrunner.backbones.backbone import Backbone, BackboneFamily, OneBackbone
from benchrunner.backbones.encoder import Encoder
from benchrunner.testing.tiny_encoder import WEIGHTS, TinyEncoder
from benchrunner.workspace import Workspace


@final
@dataclass(frozen=True)
class TinyBackbone(Backbone):
    """A backbone whose encoder is a `TinyEncoder`: with the same weights on every load, or those in a folder."""

    name: str = "tiny/words"
    about: str = "hashed words and one attention layer"
    folder: Path | None = None
    for_demo: bool = True

    def revision(self, workspace: Workspace) -> str:
        return f"tiny {zlib.crc32((self.folder / WEIGHTS).read_bytes())}" if self.folder else "tiny 1"

    def layer_count(self, workspace: Workspace) -> int:
        return 1

    def weight_count(self, workspace: Workspace) -> int:
        return 1_000

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        return TinyEncoder.read(self.folder) if self.folder else TinyEncoder()


def tiny_family(name: str = "tiny/words") -> BackboneFamily:
    """Give a family with the tiny backbone, for `register_backbones` in a test."""

    def saved(folder: Path) -> Backbone | None:
        return TinyBackbone(str(folder), folder=folder) if (folder / WEIGHTS).is_file() else None

    return OneBackbone(TinyBackbone(name), saved)
