"""The fixtures of the tests of task files: a folder with a small task, and commands in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mood_file import TASK

from benchrunner import Workspace
from benchrunner.results import Plugins, discover


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugins:
    """All installed plugins; what is noted about files is forgotten after the test."""
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BENCHRUNNER_TASKS", "")
    return discover()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Folders below the test's own, without a data folder."""
    return Workspace(tmp_path / "runs", tmp_path / "cache")


@pytest.fixture
def task_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes `mood.toml` with a text, and files beside it by their names, with two of its own."""

    def write(text: str = TASK, name: str = "mood.toml", **files: str | bytes) -> Path:
        contents: dict[str, str | bytes] = {"train.csv": "text,mood\nsun,glad\nrain,sad\n"}
        contents["dev.csv"] = contents["train.csv"]
        contents |= {key.replace("_csv", ".csv"): value for key, value in files.items()}
        for file, content in {**contents, name: text}.items():
            (tmp_path / file).write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    return write
