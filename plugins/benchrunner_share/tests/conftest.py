"""The fixtures of the tests of sharing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from board_folders import Folders, made_folders
from shared_folders import SharedFolder, shared_folder

import inline
from benchrunner_studies.system_commands import prepared
from command_line import Shell
from kitchen import Kitchen


@pytest.fixture(scope="package")
def original(tmp_path_factory: pytest.TempPathFactory) -> SharedFolder:
    """A shared folder that no test may change."""
    return shared_folder(tmp_path_factory.mktemp("original"))


@pytest.fixture
def folder(original: SharedFolder, tmp_path: Path) -> SharedFolder:
    """A copy of the shared folder, which a test may change."""
    return original.copy(tmp_path / "received")


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Shared folders of several systems that no test may change."""
    return made_folders(tmp_path_factory.mktemp("board"))


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Commands of the inline plugins in an empty folder, which is the working directory."""
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


@pytest.fixture
def kitchen(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Kitchen:
    """Study files in an empty folder, whose systems are built by a program of their own."""
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(inline.__file__).parent), *sys.path]))
    monkeypatch.setitem(prepared.__kwdefaults__, "program", (sys.executable, str(tmp_path / "bake.py")))
    return Kitchen(tmp_path, capsys)
