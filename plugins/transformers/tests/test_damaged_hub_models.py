"""Damaged and absurd checkpoints of transformers are refused before the first fit, with the file and without memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_models import write_model

from bad_checkpoints import DAMAGES, check_damage
from benchrunner import Workspace
from benchrunner.workspace import Settings
from benchrunner_transformers.backbones import TransformersFamily

FAST = ("int8", "bool", "NaN in a rare word", "bin with NaN", "prepends 1 MB", "an id of 4 * 10^9", "10^9 layers")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("roberta")
    write_model("roberta", folder)
    return folder


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in DAMAGES]
)
def test_a_damaged_checkpoint_is_refused_with_its_file(original: Path, tmp_path: Path, name: str) -> None:
    check_damage(TransformersFamily(), original, tmp_path, *DAMAGES[name], kilobytes=250_000)


def test_a_whole_checkpoint_is_loaded_once(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", settings=Settings(offline=True))
    backbone = TransformersFamily().find(str(original), workspace)
    assert backbone is not None
    revision = backbone.revision(workspace)
    monkeypatch.setattr("benchrunner_transformers.loading.load", None)
    assert backbone.revision(workspace) == revision
