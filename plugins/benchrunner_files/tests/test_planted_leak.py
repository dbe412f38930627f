"""A leak of 100 rows from train into dev is told by every command that a user of a task file calls."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchrunner.command_line.main import main
from benchrunner.results import Plugins

WORDS = [
    "sun",
    "rain",
    "day",
    "cloud",
    "warm",
    "cold",
    "wind",
    "snow",
    "walk",
    "tree",
    "green",
    "song",
    "bird",
    "stone",
]
LEAK = "D1 100 of 300 rows of dev stand in train"


def texts(count: int, seed: int) -> list[str]:
    """Write lines of six words and a label."""
    draws = random.Random(seed)
    lines = []
    for _ in range(count):
        words = draws.choices(WORDS, k=6)
        lines.append(f"{' '.join(words)},{'glad' if 'sun' in words else 'sad'}")
    return lines


@pytest.fixture
def leaking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    train = texts(300, seed=0)
    for name, lines in (("train", train), ("dev", [*texts(200, seed=1), *train[:100]])):
        Path(f"{name}.csv").write_text("\n".join(["text,mood", *lines, ""]))
    return tmp_path


def test_a_leak_is_told_everywhere(leaking: Path, plugins: Plugins, capsys: pytest.CaptureFixture[str]) -> None:
    def said(words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert main(words.split(), plugins=plugins) == code
        return capsys.readouterr().out

    assert f"look at this: {LEAK}" in said("new task mood --from train.csv")
    assert LEAK in said("data status mood.toml")
    assert said("check mood.toml", code=1) == f"mood.toml: {LEAK}.\n"
    compared = said("compare bert/random-tiny --tasks mood.toml --method probe --limit-train 64 --name leak")
    assert " D1 " in compared and "D1 rows stand in train" in compared
    assert f"{LEAK.replace('D1', 'D1 mood:')}" in said("runs show leak --notes")
    said("report leak")
    page = Path("leak.html").read_text(encoding="utf-8")
    assert "seen in train (100)" in page and "new (200)" in page
    Path("train.csv").write_text(Path("dev.csv").read_text())
    assert "300 of 300 rows of dev stand in train" in said("check mood.toml", code=1)
    Path("dev.csv").write_text("\n".join(["text,mood", *texts(200, seed=1), ""]))
    Path("train.csv").write_text("\n".join(["text,mood", *texts(300, seed=0), ""]))
    assert said("check mood.toml") == "mood.toml: the data can be used, and nothing makes scores doubtful.\n"
