"""A file with a wrong key takes away its board alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import benchrunner_leaderboards
from benchrunner import PluginError
from benchrunner_submit import Leaderboard


def names() -> set[str]:
    given = benchrunner_leaderboards.register_leaderboards()
    return {value.name for value in given if isinstance(value, Leaderboard)}


def test_a_wrong_key_takes_away_one_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(benchrunner_leaderboards.__file__).parent
    for path in folder.glob("*.toml"):
        shutil.copy(path, tmp_path)
    wrong = tmp_path / "glue.toml"
    wrong.write_text(f"archiv = 1\n{wrong.read_text()}")
    before = names()
    monkeypatch.setattr(benchrunner_leaderboards, "__file__", str(tmp_path / "__init__.py"))
    (fault,) = [value for value in benchrunner_leaderboards.register_leaderboards() if isinstance(value, PluginError)]
    assert "glue.toml: archiv: is not a key" in str(fault) and "Did you mean archive?" in str(fault)
    assert names() == before - {"glue"}
