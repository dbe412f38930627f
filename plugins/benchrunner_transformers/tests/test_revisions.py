"""The revision of a model: what its weights and its tokenizer are, whatever files they are read from."""

from __future__ import annotations

import json
from pathlib import Path

from tiny_models import write_model

from benchrunner import Workspace
from benchrunner_transformers.backbones import TransformersFamily


def revision(folder: Path, workspace: Workspace) -> str:
    backbone = TransformersFamily().find(str(folder), workspace)
    assert backbone is not None
    return backbone.revision(workspace)


def test_a_versioned_tokenizer_file_is_part_of_the_revision(tmp_path: Path) -> None:
    folder, workspace = tmp_path / "model", Workspace.of_demo(tmp_path)
    write_model("roberta", folder)
    settings, tokenizer = folder / "tokenizer_config.json", folder / "tokenizer.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"fast_tokenizer_files": ["tokenizer.4.0.json"]}))
    versioned = tokenizer.rename(folder / "tokenizer.4.0.json")
    tokenizer.write_text(versioned.read_text())
    before = revision(folder, workspace)
    content = json.loads(versioned.read_text())
    vocabulary = content["model"]["vocab"]
    one, other = sorted(vocabulary, key=len)[-2:]
    vocabulary[one], vocabulary[other] = vocabulary[other], vocabulary[one]
    versioned.write_text(json.dumps(content))
    assert revision(folder, workspace) != before


def test_a_file_that_changes_no_tokenizer_keeps_the_revision(tmp_path: Path) -> None:
    folder, workspace = tmp_path / "model", Workspace.of_demo(tmp_path)
    write_model("roberta", folder)
    before = revision(folder, workspace)
    (folder / "README.md").write_text("A model.")
    tokenizer = folder / "tokenizer.json"
    tokenizer.write_text(json.dumps(json.loads(tokenizer.read_text()), indent=7))
    assert revision(folder, workspace) == before
    for memory in (tmp_path / "cache" / "checked").iterdir():
        memory.write_text("{damaged")
    assert revision(folder, workspace) == before
