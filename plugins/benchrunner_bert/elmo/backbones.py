"""ELMo backbones: models pre-trained on this machine and checkpoints in folders, and their family."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner import Workspace
from benchrunner.engine import Backbone, BackboneFamily
from benchrunner_bert import pretrained
from benchrunner_bert.backbones import checkpoint_revision
from benchrunner_bert.elmo.configuration import MODEL_TYPE

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


@final
class ElmoFamily(BackboneFamily):
    """Everything that `benchrunner pretrain elmo-SIZE` makes."""

    def listed(self) -> list[Backbone]:
        models = pretrained.listed(Workspace.from_environment().runs)
        return [_named(model) for model in models if pretrained.model_type(model.folder) == MODEL_TYPE]

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        folder = Path(reference)
        if folder.is_dir():
            return FolderElmo(reference, folder) if pretrained.model_type(folder) == MODEL_TYPE else None
        if reference.startswith(pretrained.PREFIX):
            model = pretrained.find(reference.removeprefix(pretrained.PREFIX), workspace.runs)
            return _named(model) if pretrained.model_type(model.folder) == MODEL_TYPE else None
        return None


def _named(model: pretrained.Pretrained) -> FolderElmo:
    return FolderElmo(f"{pretrained.PREFIX}{model.name}", model.folder, model.about)
