"""The family of all text models that the library transformers can load."""

from __future__ import annotations

import re
from pathlib import Path
from typing import final

from benchrunner import Workspace
from benchrunner.engine import Backbone, BackboneFamily, hub_files
from benchrunner_transformers.backbones import FolderModel, HubModel
from benchrunner_transformers.names import RELEASED
from benchrunner_transformers.reference import Reference

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


@final
class TransformersFamily(BackboneFamily):
    """Every text model whose architecture the library transformers has.

    The plugin `bert` is asked first, and takes every BERT; with the reference `transformers:MODEL` only this family is
    asked.
    """

    def listed(self) -> list[Backbone]:
        return [HubModel(name, Reference.parse(name), about) for name, about in RELEASED.items()]

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        parsed = Reference.parse(reference)
        if Path(parsed.model).is_dir():
            return _of_known_architecture(FolderModel(reference, parsed), Path(parsed.model) / "config.json")
        for name, about in RELEASED.items():
            if parsed.model in (released := Reference.parse(name).model, released.rpartition("/")[2]):
                return HubModel(reference, Reference(released, parsed.encoder_only), about)
        if _HUB_ID.fullmatch(parsed.model) and not Path(parsed.model).exists():
            config = hub_files.download_hub_file(parsed.model, "config.json", workspace)
            return _of_known_architecture(HubModel(reference, parsed, "a model on the hub"), config)
        return None


def _of_known_architecture(backbone: Backbone, config: Path) -> Backbone | None:
    """Return the backbone, or None if there is no config.json; refuse architectures that the library does not have."""
    if not config.is_file():
        return None
    from benchrunner_transformers.configuration import read_settings

    read_settings(config)
    return backbone
