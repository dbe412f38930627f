"""ELMo backbones: checkpoints in folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner import Workspace
from benchrunner.engine import Backbone
from benchrunner_bert.backbones import checkpoint_revision

if TYPE_CHECKING:
    from benchrunner.engine import Encoder


@final
@dataclass(frozen=True)
class FolderElmo(Backbone):
    """A checkpoint in a folder."""

    name: str
    folder: Path
    about: str = "an ELMo in a folder"
    for_demo: bool = False
    twin: str = ""
    frozen: bool = True

    def revision(self, workspace: Workspace) -> str:
        return checkpoint_revision(self.folder, workspace, lambda: self.load(workspace, seed=0))

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        from benchrunner_bert.elmo.checkpoint import read

        return read(self.folder)
