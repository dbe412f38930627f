"""Every setting of a pre-training has an option; estimates say what is left to do, without changing anything."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from pretraining_runs import run, words

from benchrunner.command_line.main import main
from benchrunner_bert.pretraining import command
from benchrunner_bert.pretraining.request import Request
from benchrunner_bert.pretraining.settings import Settings


def requested(*words: str, size: str = "tiny") -> Request:
    parser = argparse.ArgumentParser()
    command.add_options(parser.add_subparsers().add_parser("pretrain"))
    asked = ["pretrain", size, "--corpus", "texts", "--out", "out", *words]
    return command.request_of(parser.parse_args(asked, argparse.Namespace(words=asked)))


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (("--objective", "ltr", "--input", "text"), "input", "text"),
        (("--mask", "80/0/20"), "masking", (80.0, 0.0, 20.0)),
    ],
)
def test_an_option_sets_its_setting(words: tuple[str, ...], field: str, value: object) -> None:
    assert getattr(requested(*words).settings, field) == value


def test_a_gpt_like_model_has_its_own_objective_and_input() -> None:
    settings = requested(size="gpt-base").settings
    assert settings == Settings(objective="ltr", input="text")
    assert requested("--input", "pairs", size="gpt-base").settings == Settings(objective="ltr")


def test_names_of_sources_are_escaped_in_the_progress(capsys: pytest.CaptureFixture[str]) -> None:
    asked = requested()
    asked.tell("tokens: 7 so far (\x1b]0;title\x07.txt)")
    dataclasses.replace(asked, quiet=True).tell("nothing")
    assert capsys.readouterr().err == "  tokens: 7 so far (\\x1b]0;title\\x07.txt)\n"


def estimate(capsys: pytest.CaptureFixture[str], folder: Path, *options: str) -> dict[str, Any]:
    asked = words(folder, "out", *options)[3:]
    assert main(["--estimate", *asked]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def flops(capsys: pytest.CaptureFixture[str], folder: Path, size: str, *options: str) -> float:
    (folder / "a.txt").write_text("Nothing is read.")
    asked = ["pretrain", size, "--corpus", str(folder / "a.txt"), "--out", str(folder / "out"), *options]
    assert main(["--estimate", *asked]) == 0
    return float(json.loads(capsys.readouterr().out)["flops"])


def test_the_estimate_of_base_is_six_per_weight_and_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rule of thumb over the layers and the output weights; attention, counted by hand, comes on top."""
    tokens = {128: 256 * 128 * 900_000, 512: 256 * 512 * 100_000}
    layers = 6 * sum(tokens.values()) * 12 * 12 * 768**2
    attention = sum(12 * count * length * 768 * 12 for length, count in tokens.items())
    outputs = 6 * 0.15 * sum(tokens.values()) * (768**2 + 768 * 30522)
    assert flops(capsys, tmp_path, "base") == pytest.approx(layers + attention + outputs, rel=0.01)


def test_estimates_know_the_kinds_of_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--steps", "10", "--batch-size", "4", "--vocab-size", "1000", "--long-share", "0"]
    bert, gpt = (flops(capsys, tmp_path, size, *small) for size in ("2/128", "gpt-2/128"))
    tokens, predicted = 10 * 4 * 128, 10 * 4 * 125
    layers, outputs = 6 * tokens * 2 * 12 * 128**2, 6 * (128**2 + 128 * 1000)
    attention = 12 * tokens * 128 * 128 * 2
    assert bert == pytest.approx(layers + attention + outputs * 10 * 4 * round(0.15 * 125), rel=0.01)
    assert gpt == pytest.approx(layers + attention / 2 + outputs * predicted, rel=0.01)
    double = flops(capsys, tmp_path, "2/128", *small, "--steps", "20")
    assert double == 2 * bert


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
    (tmp_path / "out" / "finished.json").rename(tmp_path / "finished.json")
    (tmp_path / "out" / "checkpoints" / "step-00000008").rename(tmp_path / "last checkpoint")
    half = estimate(capsys, tmp_path)
    assert half["left"] == "4 of 8 steps" and half["seconds"] == pytest.approx(log[3]["seconds_left"])
    assert 0.5 * whole["flops"] < half["flops"] < whole["flops"], "the last quarter has longer sequences"
    (tmp_path / "finished.json").rename(tmp_path / "out" / "finished.json")
    (tmp_path / "last checkpoint").rename(tmp_path / "out" / "checkpoints" / "step-00000008")
    assert sorted(tmp_path.rglob("*")) == before
