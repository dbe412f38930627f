"""Fits of models with own code from the command line: which processes run the code, and what a killed fit becomes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from own_code_models import make_hostile, write_own_model

import forked
import inline

SUPPORT = Path(inline.__file__).parent
RUN = ("run", "mood", "--batch-size", "24", "--epochs", "1", "--lr", "0.003", "--backbone", "neo")
PLACES = ("--data", "data", "--runs", "runs", "--device", "cpu")
ONE_BY_ONE = """
import json, sys
from benchrunner.command_line.main import main
for words in sys.argv[1:]:
    assert main(json.loads(words)) == 0, words
"""
"""Runs several commands in one process."""
Command = Callable[..., tuple[forked.Process, str, str]]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Run benchrunner in a folder with the model `neo`, the task `mood`, and the folder `marks` of its hostile code."""
    inline.files(1, tmp_path / "data")
    write_own_model(tmp_path / "neo")
    (tmp_path / "marks").mkdir()
    installed = tmp_path / "site" / "own-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[benchrunner]\nown = worker_offers\n")

    def begin(*words: str, code: int = 0, **environ: str) -> tuple[forked.Process, str, str]:
        settings = {
            "PYTHONPATH": f"{tmp_path / 'site'}{os.pathsep}{SUPPORT}",
            "BENCHRUNNER_CACHE": str(tmp_path / "cache"),
            "HF_HOME": str(tmp_path / "hub"),
            "HF_HUB_OFFLINE": "1",
            "MARKS": str(tmp_path / "marks"),
        }
        program = words if words[0] == "-c" else ("-m", "benchrunner", *words)
        process = forked.Process(
            program, cwd=tmp_path, env={**os.environ, **settings, **environ}, imports=forked.TRANSFORMERS
        )
        out, err = process.communicate()
        assert process.returncode == code, out + err
        return process, out, err

    return begin


def others(run: str) -> list[list[str]]:
    """Return the words of commands that read a run, and need no code of its checkpoint."""
    return [
        ["list", "backbones"],
        ["doctor"],
        ["runs", "list"],
        ["report", run, "--runs", "runs", "--out", "report.html"],
        ["share", run, "--runs", "runs", "--data", "data", "--out", "shared"],
        ["check", "shared", "--data", "data"],
    ]


def marks(folder: Path) -> set[int]:
    """Return the processes in which code of the checkpoint ran."""
    return {int(path.name.rpartition("-")[2]) for path in (folder / "marks").iterdir()}


def test_hostile_code_runs_in_worker_processes_only(command: Command, tmp_path: Path) -> None:
    make_hostile(tmp_path / "neo")
    _, _, error = command(*RUN, *PLACES, code=2)
    assert "give --trust-code neo to run it" in error
    trusted = ("--trust-code", "neo")
    command(*RUN, *PLACES, *trusted, "--dry-run")
    assert not marks(tmp_path)
    fitted, _, _ = command(*RUN, *PLACES, *trusted)
    ran_in = marks(tmp_path)
    assert len(ran_in) == 1 and fitted.pid not in ran_in
    [run] = {path.parents[1].name for path in tmp_path.glob("runs/*/model/layers.py")}
    command("-c", ONE_BY_ONE, *map(json.dumps, others(run)))
    command("predict", run, "data/mood/test.tsv", "--runs", "runs", code=2)
    assert marks(tmp_path) == ran_in
    predicted, answers, _ = command("predict", run, "data/mood/test.tsv", "--runs", "runs", *trusted)
    assert len(marks(tmp_path)) == 2 and predicted.pid not in marks(tmp_path)
    assert command("predict", run, "data/mood/test.tsv", "--runs", "runs")[1] == answers, "kept: no code is needed"
