"""Tiny backbones that differ in weights, vocabulary or depth, to be concatenated."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from benchrunner import Workspace
from benchrunner.engine import Backbone, Encoder, FlatBatch, OneBackbone
from benchrunner_kit.testing import WEIGHTS, TinyEncoder


class Deep(TinyEncoder):
    """Gives the states of its layer twice, as of two layers."""

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        states = list(super().hidden_states(batch))
        yield from (*states, states[-1])


@dataclass(frozen=True)
class Drawn(Backbone):
    """A tiny encoder whose weights are drawn from the name, or read from a folder."""

    name: str
    folder: Path | None = None
    about: str = "weights drawn from the name"
    frozen: bool = False

    def revision(self, workspace: Workspace) -> str:
        return str(zlib.crc32((self.folder / WEIGHTS).read_bytes())) if self.folder else f"drawn for {self.name}"

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        kind = Deep if self.name.startswith("deep") else TinyEncoder
        encoder = kind(seed=zlib.crc32(self.name.encode()))
        if self.folder is not None:
            encoder = kind.read(self.folder)
        if self.name.startswith("short"):
            encoder.max_length = 7
        if self.name.startswith("foreign"):
            encoder.tokenizer_fingerprint = "another vocabulary"
        encoder.notes = (f"drawn for {self.name}",) if self.name.startswith("noted") else ()
        return encoder


def drawn(name: str) -> Drawn:
    """Give a backbone whose weights are drawn from the name; it is frozen if the name says so."""
    return Drawn(name, frozen=name.startswith("frozen"))


def drawn_family(name: str) -> OneBackbone:
    """Give the family of one backbone with drawn weights."""

    def saved(folder: Path) -> Backbone | None:
        return Drawn(str(folder), folder) if (folder / WEIGHTS).is_file() else None

    return OneBackbone(drawn(name), saved)
