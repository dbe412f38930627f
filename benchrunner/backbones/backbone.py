"""A backbone: a name, a revision, and a way to load it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    from benchrunner.backbones.encoder import Encoder


class Backbone(ABC):
    """A model with its tokenizer, not yet loaded."""

    name: str
    """As the user would name it again."""
    about: str
    """One line for `benchrunner list`."""
    for_demo: bool = False
    """Small enough for `benchrunner demo`, and at hand without a network."""
    twin: str = ""
    """The name of the same model with fresh weights, to show what pre-training is worth; empty where there is none."""

    @abstractmethod
    def revision(self, workspace: Workspace) -> str:
        """A hash of the weights, the configuration and the tokenizer: the same revision is the same model."""

    @abstractmethod
    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        """The encoder in fp32 on the CPU. Parts the checkpoint lacks are drawn from the seed."""


class BackboneFamily(ABC):
    """Backbones of one kind: some with names of their own, others found by pattern, path or hub id."""

    @property
    def name(self) -> str:
        """Identifies the family among those of its plugin; the class's name by default.

        Every fit records it, and only this family reads the fit back: keep it from version to version.
        """
        return type(self).__name__

    @abstractmethod
    def listed(self) -> list[Backbone]:
        """Those that `benchrunner list` shows."""

    @abstractmethod
    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        """The backbone that the user means, or None where this family does not know it.

        A folder that one of its encoders saved is one of them: what a fit leaves is read through this, and of all
        families only the one that made the fit is asked.
        """

    def convert(self, source: Path, target: Path) -> bool:
        """Write a trainer's own checkpoint folder to `target` in this family's published layout, all of it or nothing.

        False where the folder is no such checkpoint, or of no model of this family. A family need not know any.
        """
        return False


@dataclass(frozen=True)
class OneBackbone(BackboneFamily):
    """A family of one, for a plugin that brings a single backbone."""

    backbone: Backbone
    saved: Callable[[Path], Backbone | None]
    """The backbone in a folder that its encoder's `save` wrote, or None where the folder holds something else."""

    @property
    def name(self) -> str:
        return self.backbone.name

    def listed(self) -> list[Backbone]:
        return [self.backbone]

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        if reference == self.backbone.name:
            return self.backbone
        return self.saved(Path(reference)) if Path(reference).is_dir() else None
