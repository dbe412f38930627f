"""The one backbone of this plugin, a checkpoint in plugins/benchrunner_bert's layout."""

from __future__ import annotations

from pathlib import Path
from typing import final

from benchrunner import Workspace
from benchrunner.engine import Backbone, BackboneFamily
from benchrunner_bert import BertCheckpoint, BertFamily

MODEL = BertCheckpoint(
    "bert/novels-10m",
    Path(__file__).with_name("model"),
    "a small model that comes with this plugin: 6 layers, 320 wide, pre-trained by us on 91 English novels",
    twin="bert/random-6/320/5",
)
"""Its twin has the same vocabulary."""


@final
class Novels(BackboneFamily):
    """The model of this plugin, and what a fit of it saved: a folder like any other BERT's."""

    def listed(self) -> list[Backbone]:
        return [MODEL]

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        if reference == MODEL.name:
            return MODEL
        return BertFamily().find(reference, workspace) if Path(reference).is_dir() else None
