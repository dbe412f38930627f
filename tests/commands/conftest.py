"""Fixtures of the tests of commands."""

from pathlib import Path

import pytest

from benchrunner.command_line.main import main
from command_line import Shell
from inline import files, mood, pairs, plugins


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Commands of the inline plugins in an empty folder, which is the working directory."""
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    for name in ("BENCHRUNNER_DATA", "BENCHRUNNER_RUNS", "HF_HUB_OFFLINE"):
        monkeypatch.setenv(name, "")  # so that what --offline and the demo set is removed after the test
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run a study named `first` once; return its folder, for copies, and the id of its fit."""
    folder = tmp_path_factory.mktemp("finished")
    files(1, folder / "data")
    words = ["compare", "words", "--tasks", "mood", "--name", "first", "--device", "cpu", "--quiet"]
    folders = ["--data", str(folder / "data"), "--runs", str(folder / "runs")]
    assert main([*words, *folders], plugins=plugins(register_tasks=[mood(), pairs()])) == 0
    [head] = (folder / "runs").glob("*/model/head.safetensors")
    return folder, head.parent.parent.name
