"""The study of docs/studies/curve.toml: a fit on its training rows and on dev, after each epoch."""

import json
from pathlib import Path

import pytest

import inline
from benchrunner.command_line.main import main

CURVE = Path(__file__).parents[3] / "docs" / "studies" / "curve.toml"
LEARN = "--batch-size 16 --epochs 40 --lr 1e-2 --data data --runs runs --device cpu --quiet --format json"


def called(words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, list[float]]:
    """Run a command on the toy task; give the means of each column, in the order of the systems."""
    assert main(f"{words} {LEARN}".split(), plugins=inline.plugins()) == 0
    means = dict[str, list[float]]()
    for figure in json.loads(capsys.readouterr().out)["figures"]:
        means.setdefault(figure["column"], []).append(figure["mean"])
    return means


def test_a_curve_ends_with_the_scores_of_the_whole_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inline.files(1, Path("data"))
    asked = "--set model=words task=mood steps=3,60,120 restarts=1"
    curve = called(f"compare --study {CURVE} {asked}", capsys)
    whole = called("compare words --tasks mood --restarts 1", capsys)
    assert curve["dev"][-1] == whole["mine/mood accuracy"][0]
    assert curve["train"] == sorted(curve["train"]) and curve["train"][0] < curve["train"][-1] == 100
