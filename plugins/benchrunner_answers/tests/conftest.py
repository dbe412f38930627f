"""The fixture of the tests of audits."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import Shell


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Commands of the inline plugins in an empty folder, which is the working directory, with a folder `given`."""
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "given").mkdir()
    return Shell(tmp_path, capsys)
