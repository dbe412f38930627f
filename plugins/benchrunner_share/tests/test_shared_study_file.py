"""The fits of study files are shared and verified: several methods, two stages, ensembles, and labelled test splits."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchrunner import Workspace
from benchrunner.results import Computing, Runner, read_study
from benchrunner_share.share import share_study
from benchrunner_share.verifying.verify import verify_folder
from kitchen import STAGED, Kitchen, staged


def shared(kitchen: Kitchen, name: str) -> dict[str, Any]:
    """Share a kept study file, verify the folder, and return the content of its study."""
    folder = kitchen.folder
    workspace = Workspace(folder / "fits", folder / "cache", data=folder / "data")
    runner = Runner(kitchen.plugins, workspace, Computing("cpu"))
    share_study(read_study(name, runner), folder / "shared", runner)
    assert verify_folder(folder / "shared", kitchen.plugins, workspace).is_equal
    files = [path for path in Path(folder / "shared").rglob("*") if path.is_file()]
    assert not [path for path in files if str(folder) in path.read_text()]
    content: dict[str, Any] = json.loads((folder / "shared" / "study.json").read_text())
    return content


def test_systems_of_several_methods_are_shared(kitchen: Kitchen) -> None:
    kitchen.done("--study", "study.toml", "--scale", "crumb", "--name", "bread", "--quiet")
    cells = shared(kitchen, "bread")["result"]["cells"]
    assert {"finetune", "finetune+bilstm", "features"} <= {cell["method"] for cell in cells}


COLUMN = """
[[column]]
name = "known"
task = "known"
split = "test"
"""


def test_stages_and_test_splits_are_shared(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kitchen.STAGED", STAGED + COLUMN)
    code, _, err = staged(kitchen, "--name", "stages", "--quiet")
    assert code == 0, err
    content = shared(kitchen, "stages")
    assert set(content["tasks"]) == {"mine/mood", "mine/known"}
    assert any(backbone.startswith("run:") for backbone in content["revisions"])
    scores = [score for cell in content["result"]["cells"] for score in cell["scores"]]
    assert {score["split"] for score in scores} == {"dev", "test"}
