"""Imports go one way between the parts of the plugin, those inside functions and below TYPE_CHECKING included."""

from __future__ import annotations

from pathlib import Path

import benchrunner_bert
from import_graph import imports, modules

ROOT = "benchrunner_bert"
LAYERS = (
    ("configuration", "tokenizer", "exported_heads", "weight_names", "memory", "pretrained"),
    ("checkpoint_writer",),
    ("model",),
    ("token_head",),
    ("checkpoint",),
    ("pretraining.settings", "pretraining.objectives", "pretraining.inputs"),
    ("pretraining.corpus",),
    ("pretraining.instances",),
    ("pretraining.deepspeed",),
    ("pretraining.request", "pretraining.continuation"),
    ("pretraining.training",),
    ("pretraining.architectures",),
    ("pretraining.export",),
    ("pretraining",),
    ("backbones",),
    ("family",),
    ("",),
)
"""Modules and packages, lowest first. A module imports only modules of its own layer and of lower layers."""
RANKS = {f"{ROOT}.{name}".rstrip("."): rank for rank, layer in enumerate(LAYERS) for name in layer}


def rank(module: str) -> int:
    """Give the layer of a module, or of the innermost package in the table that holds it."""
    while module not in RANKS:
        module = module.rpartition(".")[0]
    return RANKS[module]


def test_imports_go_from_higher_to_lower_layers() -> None:
    package = Path(benchrunner_bert.__file__).parent
    assert RANKS.keys() <= modules(package).keys()
    lines = list(imports(package))
    assert len(lines) > 100
    assert [str(line) for line in lines if rank(line.imported) > rank(line.importer)] == []
    top = {line.importer for line in lines if rank(line.importer) == len(LAYERS) - 1}
    assert top == {ROOT}, "every other module has a layer of its own"
