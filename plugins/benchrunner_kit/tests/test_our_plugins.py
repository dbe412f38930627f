"""Everything that our own plugins offer passes the checks for plugin authors."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchrunner import Workspace
from benchrunner.results import discover
from benchrunner_kit.testing import check_backbone, check_leaderboard, check_method, check_task

OURS = discover()
OTHER_PROBLEMS = ("answers", "cosine", "frozen-towers", "likelihood", "two-tower")
"""Methods that do not learn the sentences of `check_method`: they are checked beside their own tests."""
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", [name for name, task in OURS.tasks.items() if task.demo_files is not None])
def test_each_task_with_demo_data_passes(name: str, tmp_path: Path) -> None:
    check_task(OURS.tasks.find(name), tmp_path)


@pytest.mark.parametrize("name", [name for name in OURS.methods if name not in OTHER_PROBLEMS])
def test_each_method_passes(name: str, tmp_path: Path) -> None:
    check_method(OURS.methods.find(name), tmp_path)


@pytest.mark.parametrize("name", [name for name, backbone in OURS.backbones.items() if backbone.for_demo])
def test_each_backbone_for_the_demo_passes(name: str, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache")
    check_backbone(*OURS.backbone_search.find(name, workspace), workspace, tmp_path / "saved")


@pytest.mark.parametrize("name", OURS.leaderboards)
def test_each_leaderboard_passes(name: str, tmp_path: Path) -> None:
    board = OURS.leaderboards.find(name)
    if any(OURS.tasks.find(file.task).demo_files is None for file in board.files):
        pytest.skip("a task of this board has no demo data")
    check_leaderboard(board, OURS.tasks.values(), tmp_path)
