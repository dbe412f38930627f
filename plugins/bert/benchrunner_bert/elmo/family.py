"""The family of ELMo backbones: models pre-trained on this machine and checkpoints in folders."""

from __future__ import annotations

from pathlib import Path
from typing import final

from benchrunner import Workspace
from benchrunner.engine import Backbone, BackboneFamily
from benchrunner_bert import pretrained
from benchrunner_bert.elmo.backbones import FolderElmo
from benchrunner_bert.elmo.configuration import MODEL_TYPE


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
