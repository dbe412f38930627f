"""The fixtures of the report's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_studies import small

from benchrunner.results import Result, Runner
from benchrunner_report.gathering import Report, gather
from command_line import Shell


@pytest.fixture(scope="package")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Runner]:
    """A study of two backbones on a task of each kind, kept under the name `kept`, which no test may change."""
    return small(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="package")
def report(study: tuple[Result, Runner]) -> Report:
    """What a report shows of that study."""
    return gather(*study)


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Commands of the inline plugins in an empty folder, which is the working directory."""
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)
