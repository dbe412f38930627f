"""`--recompute`: fits that compute their layers twice are the same fits, bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest

import benchrunner_bert
from benchrunner.results import Plugins, discover
from benchrunner_bert.model import Layer
from command_line import CommandLine
from inline import METHODS, QUICK, files, mood, own

ONCE = 2 * (QUICK.epochs * 48 // QUICK.batch_size)
"""Passes through the layers of a fit: two layers in each step."""


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that gets an entry whenever a layer computes in training."""
    passes: list[int] = []
    forward = Layer.forward

    def counted(layer: Layer, *arguments: object) -> object:
        if layer.training:
            passes.append(1)
        return forward(layer, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Layer, "forward", counted)
    return passes


def plugins() -> Plugins:
    return discover(extra=[METHODS, ("own", own(register_tasks=[mood()])), ("bert", benchrunner_bert)], installed=False)


@pytest.mark.parametrize("method", ["finetune", "lora"])
def test_the_fit_has_the_same_id_and_the_same_bits(
    method: str,
    passes: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results, counts = [], []
    for option in ((), ("--recompute",)):
        shell = CommandLine(tmp_path, plugins(), capsys, monkeypatch)
        files(1, tmp_path / "data")
        words = ("--backbone", "bert/random-2/64", "--dropout", "0.1", "--max-length", "16", "--method", method)
        passes.clear()
        code, out = shell("run", "mood", *words, "--runs", tmp_path / f"runs{len(results)}", "--quiet", *option)
        assert code == 0, out
        (log,) = (tmp_path / f"runs{len(results)}").glob("*/log.jsonl")
        files_of_fit = [*sorted(log.parent.glob("model/*.safetensors")), log]
        results.append((log.parent.name, [path.read_bytes() for path in files_of_fit]))
        counts.append(len(passes))
    assert results[0] == results[1]
    assert len(results[0][1]) > 1 and counts == [ONCE, 2 * ONCE]
