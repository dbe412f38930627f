"""Every setting of a pre-training has an option; estimates say what is left to do, without changing anything."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pretraining_runs import run, words

from benchrunner.command_line.main import main
from benchrunner_bert.pretraining.request import Request
from benchrunner_bert.pretraining.settings import Settings


def test_names_of_sources_are_escaped_in_the_progress(capsys: pytest.CaptureFixture[str]) -> None:
    asked = Request("tiny", (), Path("out"), Settings())
    asked.tell("tokens: 7 so far (\x1b]0;title\x07.txt)")
    assert capsys.readouterr().err == "  tokens: 7 so far (\\x1b]0;title\\x07.txt)\n"


def estimate(capsys: pytest.CaptureFixture[str], folder: Path, *options: str, size: str = "1/32/2") -> dict[str, Any]:
    asked = words(folder, "out", *options, size=size)[3:]
    assert main(["--estimate", *asked]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_estimates_know_the_kinds_of_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--steps", "10", "--batch-size", "4", "--length", "128", "--vocab-size", "1000", "--long-share", "0"]
    bert, gpt = (estimate(capsys, tmp_path, *small, size=size)["flops"] for size in ("2/128", "gpt-2/128"))
    tokens, predicted = 10 * 4 * 128, 10 * 4 * 125
    layers, outputs = 6 * tokens * 2 * 12 * 128**2, 6 * (128**2 + 128 * 1000)
    attention = 12 * tokens * 128 * 128 * 2
    assert bert == pytest.approx(layers + attention + outputs * 10 * 4 * round(0.15 * 125), rel=0.01)
    assert gpt == pytest.approx(layers + attention / 2 + outputs * predicted, rel=0.01)


def test_an_estimate_counts_what_is_left_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = estimate(capsys, tmp_path)
    assert (whole["left"], whole["seconds"]) == ("8 steps", None)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]
    run(words(tmp_path, "out", "--checkpoint-steps", "4"))
    log = [json.loads(line) for line in (tmp_path / "out" / "log.jsonl").read_text().splitlines()]
    measured = [line["flops_per_second"] / line["sequences_per_second"] for line in log if "flops_per_second" in line]
    assert len(measured) == 8 and 0.5 * whole["flops"] < 8 * sum(measured) < whole["flops"], "sequences may be short"
    before = sorted(tmp_path.rglob("*"))
    assert estimate(capsys, tmp_path) == {"left": "", "flops": 0.0, "seconds": 0.0}
    assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / "out" / "finished.json").unlink()
    shutil.rmtree(tmp_path / "out" / "checkpoints" / "step-00000008")
    half = estimate(capsys, tmp_path)
    assert half["left"] == "4 of 8 steps" and half["seconds"] == pytest.approx(log[3]["seconds_left"])
    assert 0.5 * whole["flops"] < half["flops"] < whole["flops"], "the last quarter has longer sequences"
