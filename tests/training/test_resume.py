"""A fit that is killed or interrupted and then resumed has the bits of an unbroken fit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import inline
from benchrunner.interrupts import HeldBack
from inline import files

EVERY_STEP = ("--checkpoint-every", "0")
WORDS = ("run", "mood", "--backbone", "tiny/words", "--lr", "0.03", "--batch-size", "2", "--device", "cpu", "--quiet")
CORE = (sys.executable, str(Path(inline.__file__)))

STOPPED = "\nbenchrunner: stopped. The same command goes on from here; finished fits are not run again.\n"


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    """Take Ctrl-C as at a terminal in these tests and their processes. A job in the background would ignore it."""
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, outside)


def command(home: Path, *more: str, tool: tuple[str, ...] = CORE) -> subprocess.Popen[str]:
    """Run the command line in a process of its own."""
    environment = {**os.environ, "BENCHRUNNER_CACHE": str(home / "cache")}
    where = ("--data", str(home / "data"), "--runs", str(home / "runs"))
    return subprocess.Popen(
        [*tool, *WORDS, *where, *more],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def left_by(home: Path) -> dict[str, object]:
    """Read what a fit left in its folder, without timings."""
    (run,) = {path.parents[1] for path in home.glob("runs/*/model/head.safetensors")}
    files = [*run.glob("model/*"), *run.glob("predictions/*/*.npy"), *run.glob("predictions/*/answers.jsonl")]
    left: dict[str, object] = {str(file.relative_to(run)): file.read_bytes() for file in files}
    for path in (run / "record.json", *run.glob("predictions/*/record.json")):
        record = json.loads(path.read_text())
        left[str(path.relative_to(run))] = {name: value for name, value in record.items() if name != "timings"}
    left["log"] = (run / "log.jsonl").read_text()
    assert not (run / "checkpoint").exists()
    assert not list(run.rglob("*.part"))
    return left


def steps_done(home: Path) -> int:
    """Read the number of steps in the checkpoint of the only fit."""
    from safetensors import safe_open

    for path in home.glob("runs/*/checkpoint/state.safetensors"):
        with safe_open(path, framework="np") as file:
            return int(file.metadata()["step"])
    return 0


def check_resumed(
    tmp_path: Path, *more: str, stops: tuple[signal.Signals, ...], apart: int, tool: tuple[str, ...] = CORE
) -> None:
    """Stop a fit by each signal after `apart` more steps; in the end it leaves what an unbroken fit leaves."""
    for name in ("whole", "stopped"):
        files(1, tmp_path / name / "data")
    code, out, err = finish(command(tmp_path / "whole", *more, tool=tool))
    assert (code, err) == (0, "")
    home, done = tmp_path / "stopped", 0
    for sign in stops:
        process = command(home, *EVERY_STEP, *more, tool=tool)
        goal = done + apart
        while steps_done(home) < goal:
            assert process.poll() is None, f"the fit ended by itself: {process.communicate()}"
            time.sleep(0.002)
        process.send_signal(sign)
        result = finish(process)
        assert result == ((-9, "", "") if sign == signal.SIGKILL else (130, "", STOPPED))
        assert not list(home.glob("runs/*/record.json"))
        done = steps_done(home)
        assert done >= goal
    result = finish(command(home, *EVERY_STEP, *more, tool=tool))
    assert result == (0, out.replace("whole", "stopped"), "")
    assert left_by(home) == left_by(tmp_path / "whole")


def test_a_fit_killed_then_interrupted_ends_bit_identical(tmp_path: Path) -> None:
    check_resumed(tmp_path, "--epochs", "5", stops=(signal.SIGKILL, signal.SIGINT), apart=15)


@pytest.mark.slow
def test_a_fit_killed_many_times_ends_bit_identical(tmp_path: Path) -> None:
    check_resumed(tmp_path, "--epochs", "20", stops=(signal.SIGKILL,) * 8, apart=37)


@pytest.mark.slow
def test_a_transformer_that_was_killed_ends_the_same_to_the_bit(tmp_path: Path) -> None:
    pytest.importorskip("benchrunner_bert", reason="needs the plugin with a small transformer")
    code = (
        "import sys, inline, benchrunner_bert; from benchrunner import discover;"
        "from benchrunner.commands.main import main;"
        "extra = [('own', inline.own(register_backbones=[])), ('bert', benchrunner_bert)];"
        "sys.argv = [word.replace('tiny/words', 'bert/random-tiny') for word in sys.argv];"
        "sys.exit(main(plugins=discover(extra=extra, installed=False)))"
    )
    path = f"import sys; sys.path.insert(0, {str(Path(inline.__file__).parent)!r});"
    tool = (sys.executable, "-c", path + code)
    check_resumed(tmp_path, "--epochs", "3", stops=(signal.SIGKILL,) * 4, apart=11, tool=tool)


@pytest.mark.parametrize("asking", [signal.SIGINT, signal.SIGTERM])
def test_a_request_to_stop_is_held_back_until_the_work_is_whole(asking: signal.Signals) -> None:
    handler, reached = signal.getsignal(asking), []
    with pytest.raises(KeyboardInterrupt), HeldBack() as interrupt:
        signal.raise_signal(asking)
        reached.append(interrupt.asked)
    assert reached == [True]
    assert signal.getsignal(asking) is handler


def test_a_second_ctrl_c_is_not_held_back() -> None:
    reached = []
    with pytest.raises(KeyboardInterrupt), HeldBack():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        reached.append(True)
    assert reached == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_sigterm_is_held_back_too() -> None:
    reached = []
    with pytest.raises(KeyboardInterrupt), HeldBack():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        reached.append(True)
    assert reached == [True]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("every", ["-1", "nan", "soon"])
def test_the_time_between_checkpoints_is_a_number_of_seconds(every: str, tmp_path: Path) -> None:
    from benchrunner.commands.main import main
    from inline import plugins

    words = [*WORDS, "--data", str(tmp_path), f"--checkpoint-every={every}"]
    try:
        assert main(words, plugins=plugins()) == 2
    except SystemExit as stopped:
        assert stopped.code == 2
