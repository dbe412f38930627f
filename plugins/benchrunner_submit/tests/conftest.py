"""The fixture of the tests of submissions."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import Shell
from inline import board, mood, pairs, plugins, wide_board


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Commands of the inline plugins in an empty folder, which is the working directory."""
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "")  # so that what --offline sets is removed after the test
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path, capsys)
    shell.plugins = plugins(register_tasks=[mood(), pairs()], register_leaderboards=[board(), wide_board()])
    return shell
