"""A fit of a hub model that is killed (kill -9) and resumed has the bits of an unbroken fit, dropout included."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tiny_models import SETTINGS, write_model

import forked
import inline

FIT = """
import os, signal, sys
sys.path.insert(0, sys.argv.pop(1))
import inline, benchrunner_transformers
from benchrunner.results import discover
from benchrunner.command_line.main import main
from benchrunner.training.checkpoints import Checkpoint
save, last = Checkpoint.save, int(sys.argv.pop(1))
def save_and_die(checkpoint, step, *more, **named):
    save(checkpoint, step, *more, **named)
    if step == last:
        os.kill(os.getpid(), signal.SIGKILL)
Checkpoint.save = save_and_die
extra = [("own", inline.own(register_backbones=[])), ("transformers", benchrunner_transformers)]
sys.exit(main(plugins=discover(extra=extra, installed=False)))
"""
"""A program that runs a command with the tiny task `mood`, and kills itself after a step."""


def fit(home: Path, model: Path, *, last: int) -> int:
    """Fit the model below a folder, with a checkpoint after every step; die after step `last`."""
    words = [
        "--batch-size",
        "4",
        "--epochs",
        "2",
        "--lr",
        "0.003",
        "--checkpoint-every",
        "0",
        "--device",
        "cpu",
        "--quiet",
    ]
    places = ["--data", str(home.parent / "data"), "--runs", str(home / "runs")]
    program = ["-c", FIT, str(Path(inline.__file__).parent), str(last)]
    command = [*program, "run", "mood", "--device", "cpu", "--backbone", f"transformers:{model}", *words, *places]
    environment = {**os.environ, "BENCHRUNNER_CACHE": str(home / "cache")}
    process = forked.Process(command, env=environment, imports=forked.TRANSFORMERS)
    code, (out, err) = process.wait(), process.communicate()
    assert not err, out + err
    return code


def left_by(home: Path) -> dict[str, bytes]:
    """Read what the only fit left: its model, its log and its answers."""
    (run,) = {path.parents[1] for path in home.glob("runs/*/model/head.safetensors")}
    assert json.loads((run / "record.json").read_text(encoding="utf-8"))["status"] == "done"
    files = [run / "log.jsonl", *run.glob("model/*"), *run.glob("predictions/*/answers.jsonl")]
    return {str(file.relative_to(run)): file.read_bytes() for file in files if file.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("model_type", list(SETTINGS))
def test_a_fit_after_kill_9_ends_bit_identical(model_type: str, tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    write_model(model_type, model)
    inline.files(1, tmp_path / "data")
    assert fit(tmp_path / "whole", model, last=0) == 0
    assert [fit(tmp_path / "killed", model, last=step) for step in (3, 8, 0)] == [-9, -9, 0]
    assert left_by(tmp_path / "killed") == left_by(tmp_path / "whole")
