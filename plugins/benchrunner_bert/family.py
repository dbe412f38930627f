"""The family of all BERT backbones: released models, pre-trained models, checkpoints in folders, fresh weights."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import final

from benchrunner import CheckpointError, Workspace, read_json_object
from benchrunner.engine import Backbone, BackboneFamily
from benchrunner_bert import pretrained
from benchrunner_bert.backbones import BertCheckpoint, RandomBert
from benchrunner_bert.configuration import MODEL_TYPE, SIZES, Configuration
from benchrunner_bert.memory import TRAINED, check_memory
from benchrunner_checkpoints import hub_files

MINIATURES = tuple((layers, hidden) for layers in (2, 4, 6, 8, 10, 12) for hidden in (128, 256, 512, 768))
"""Layers and hidden size of the 24 released small models (Turc et al., 2019)."""

RANDOM = "bert/random-"
"""Start of the names of fresh models; the size follows."""

EMBEDDED = [
    BertCheckpoint(
        "bert/novels",
        Path(__file__).with_name("novels"),
        "a small model that comes with this plugin: 4 layers, 192 wide, pre-trained by us on 91 English novels",
        for_demo=True,
        twin=f"{RANDOM}4/192",
    )
]
"""Models that come with this plugin and need no network. A twin has the same vocabulary."""

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(@\w[\w./-]*)?")


@final
class BertFamily(BackboneFamily):
    """Everything that is a BERT."""

    def listed(self) -> list[Backbone]:
        runs = Workspace.from_environment().runs
        backbones: list[Backbone] = [*EMBEDDED, *_released(), *_miniatures()]
        for model in pretrained.listed(runs):
            backbones.append(BertCheckpoint(f"{pretrained.PREFIX}{model.name}", model.folder, model.about))
        return [*backbones, *(RandomBert(f"{RANDOM}{size}", size) for size in SIZES)]

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        if reference.startswith(RANDOM):
            size = reference.removeprefix(RANDOM)
            config = Configuration.of_size(size, 1)  # refuses what is no size
            check_memory(
                f"The fresh model {reference} has {config.weights:,} weights, which need", TRAINED * config.weights
            )
            return RandomBert(reference, size)
        if reference.startswith(pretrained.PREFIX) and not Path(reference).exists():
            model = pretrained.find(reference.removeprefix(pretrained.PREFIX), workspace.runs)
            return BertCheckpoint(reference, model.folder, model.about)
        for backbone in EMBEDDED:
            if reference == backbone.name:
                return backbone
        name, at, revision = reference.partition("@")
        for released in (*_released(), *_miniatures()):
            if name in (released.name, released.place, released.name.replace("/", "-")):
                named = reference if at else released.name
                return replace(released, name=named, place=f"{released.place}{at}{revision}")
        return _find_checkpoint(reference, workspace)


def _released() -> Iterator[BertCheckpoint]:
    released = tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))
    for name, (repository, about) in released.items():
        yield BertCheckpoint(name, repository, about)


def _miniatures() -> Iterator[BertCheckpoint]:
    sizes = {size: name for name, size in SIZES.items() if name != "base"}
    for layers, hidden in MINIATURES:
        repository = f"google/bert_uncased_L-{layers}_H-{hidden}_A-{hidden // 64}"
        name = f"bert/{sizes[layers, hidden]}" if (layers, hidden) in sizes else repository
        yield BertCheckpoint(name, repository, f"a released miniature: {layers} layers, {hidden} wide")


def _find_checkpoint(reference: str, workspace: Workspace) -> Backbone | None:
    """Find a BERT in a folder, or in a repository on the hub."""
    folder = Path(reference)
    if folder.is_dir():
        return BertCheckpoint(reference, folder) if _is_bert(folder / "config.json") else None
    if _HUB_ID.fullmatch(reference) and not folder.exists():
        config = hub_files.download_hub_file(reference, "config.json", workspace)
        return BertCheckpoint(reference, reference, "a checkpoint on the hub") if _is_bert(config) else None
    return None


def _is_bert(config: Path) -> bool:
    if not config.is_file():
        return False
    settings = read_json_object(config, error=CheckpointError)
    usual = MODEL_TYPE if "num_hidden_layers" in settings else None
    return settings.get("model_type", usual) == MODEL_TYPE
