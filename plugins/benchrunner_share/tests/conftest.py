"""The fixtures of the tests of sharing."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from board_folders import Folders, made_folders
from shared_folders import SharedFolder, shared_folder

import inline
from benchrunner_studies.system_commands import prepared
from command_line import Shell
from kitchen import Kitchen, baking


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


@pytest.fixture(scope="package")
def first_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what `shared` makes once."""
    return tmp_path_factory.mktemp("first") / "study"


@pytest.fixture
def shared(shell: Shell, first_study: Path) -> Shell:
    """A shell in which a study named `first` is shared to the folder `out`."""
    if first_study.exists():
        shutil.copytree(first_study, shell.folder, dirs_exist_ok=True)
        return shell
    words = ("compare", "words", "--tasks", "mood", "--name", "first", "--device", "cpu", "--quiet")
    shell.done(*words, *shell.folders())
    out = shell.done("share", "first", "--out", "out", *shell.folders())
    assert out.startswith("out holds ")
    shutil.copytree(shell.folder, first_study)
    return shell


@pytest.fixture
def kitchen(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Kitchen:
    """Study files in an empty folder, whose systems are built by a program of their own."""
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(inline.__file__).parent), *sys.path]))
    monkeypatch.setitem(prepared.__kwdefaults__, "program", baking(tmp_path))
    return Kitchen(tmp_path, capsys)
