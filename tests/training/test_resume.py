"""A fit that is killed or interrupted and then resumed has the bits of an unbroken fit."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import forked
import inline
from benchrunner.io.seals import read_sealed
from benchrunner.process.interrupts import HeldBack
from inline import files

EVERY_STEP = ("--checkpoint-every", "0")
WORDS = (
    "run",
    "mood",
    "--backbone",
    "tiny/words",
    "--lr",
    "0.03",
    "--batch-size",
    "2",
    "--device",
    "cpu",
    "--quiet",
    "--notes",
)
CORE = (str(Path(inline.__file__)),)

STOPPING = """
import os, runpy, sys
from benchrunner.training.checkpoints import Checkpoint
save, last, number = Checkpoint.save, *map(int, sys.argv[1:3])
def save_and_stop(checkpoint, step, *more, **named):
    save(checkpoint, step, *more, **named)
    if step == last:
        os.kill(os.getpid(), number)
Checkpoint.save = save_and_stop
sys.argv = sys.argv[3:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""A program that sends itself a signal after a step: a test that watches the steps is late on a busy machine."""

STOPPED = "\nbenchrunner: stopped. The same command goes on from here; finished fits are not run again.\n"


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    """Take Ctrl-C as at a terminal in these tests and their processes. A job in the background would ignore it."""
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, outside)


def arguments(home: Path, *more: str, tool: tuple[str, ...] = CORE) -> list[str]:
    """Return the command line that fits below a folder."""
    return [*tool, *WORDS, "--data", str(home / "data"), "--runs", str(home / "runs"), *more]


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "BENCHRUNNER_CACHE": str(home / "cache")}


def finish(process: forked.Process) -> tuple[int, str, str]:
    out, err = process.communicate()
    return process.wait(), out, err


def left_by(home: Path) -> dict[str, object]:
    """Read what a fit left in its folder, without timings."""
    (run,) = {path.parents[1] for path in home.glob("runs/*/model/head.safetensors")}
    files = [*run.glob("model/*"), *run.glob("predictions/*/*.npy"), *run.glob("predictions/*/answers.jsonl")]
    left: dict[str, object] = {str(file.relative_to(run)): file.read_bytes() for file in files}
    for path in (run / "record.json", *run.glob("predictions/*/record.json")):
        record = read_sealed(path, "")
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
            return int(json.loads(file.metadata()["facts"])["step"])
    return 0


def test_a_fit_killed_then_interrupted_ends_bit_identical(tmp_path: Path) -> None:
    """The last process is a fresh one, with another hash seed."""
    for name in ("whole", "stopped"):
        files(1, tmp_path / name / "data")
    whole = tmp_path / "whole"
    code, out, err = finish(forked.Process(arguments(whole, "--epochs", "2"), env=environment(whole)))
    assert (code, err) == (0, "")
    home = tmp_path / "stopped"
    asked = arguments(home, *EVERY_STEP, "--epochs", "2")
    for number, step, told in ((signal.SIGKILL, 15, (-9, "", "")), (signal.SIGINT, 30, (130, "", STOPPED))):
        program = ["-c", STOPPING, str(step), str(int(number)), *asked]
        assert finish(forked.Process(program, env=environment(home))) == told
        assert not list(home.glob("runs/*/record.json"))
        assert steps_done(home) in (step, step + 1)
    last = subprocess.run([sys.executable, *asked], env=environment(home), capture_output=True, text=True, timeout=600)
    assert (last.returncode, last.stderr) == (0, "")
    assert without_seconds(last.stdout) == without_seconds(out.replace("whole", "stopped"))
    assert left_by(home) == left_by(whole)


def without_seconds(table: str) -> str:
    """Leave out how long the fit took, which differs from run to run."""
    text, count = re.subn(r"[\d,]+ seconds of fitting", "seconds of fitting", table)
    assert count == 1
    return text


def check_killed(tmp_path: Path, *more: str, kills: int, apart: int, tool: tuple[str, ...] = CORE) -> None:
    """Kill a fit at moments of its process's own choice, so many steps apart; it ends as a fit that was not killed."""
    for name in ("whole", "killed"):
        files(1, tmp_path / name / "data")
    whole, home = tmp_path / "whole", tmp_path / "killed"
    code, out, err = finish(forked.Process(arguments(whole, *more, tool=tool), env=environment(whole)))
    assert (code, err) == (0, "")
    asked = arguments(home, *EVERY_STEP, *more, tool=tool)
    done = 0
    for _ in range(kills):
        process = forked.Process(asked, env=environment(home))
        wanted = done + apart
        while steps_done(home) < wanted:
            assert process.poll() is None, f"the command ended by itself: {process.communicate()}"
            time.sleep(0.002)
        process.kill()
        assert finish(process) == (-9, "", "")
        assert not list(home.glob("runs/*/record.json"))
        done = steps_done(home)
        assert done >= wanted
    code, last, err = finish(forked.Process(asked, env=environment(home)))
    assert (code, err) == (0, "")
    assert without_seconds(last) == without_seconds(out.replace("whole", "killed"))
    assert left_by(home) == left_by(whole)


@pytest.mark.slow
def test_a_fit_killed_many_times_ends_bit_identical(tmp_path: Path) -> None:
    check_killed(tmp_path, "--epochs", "20", kills=8, apart=37)


@pytest.mark.slow
def test_a_killed_transformer_ends_bit_identical(tmp_path: Path) -> None:
    pytest.importorskip("benchrunner_bert", reason="needs the plugin with a small transformer")
    code = (
        "import sys, inline, benchrunner_bert; from benchrunner.results import discover;"
        "from benchrunner.command_line.main import main;"
        "extra = [('own', inline.own(register_backbones=[])), ('bert', benchrunner_bert)];"
        "sys.argv = [word.replace('tiny/words', 'bert/random-tiny') for word in sys.argv];"
        "sys.exit(main(plugins=discover(extra=extra, installed=False)))"
    )
    path = f"import sys; sys.path.insert(0, {str(Path(inline.__file__).parent)!r});"
    check_killed(tmp_path, "--epochs", "3", kills=4, apart=11, tool=("-c", path + code))


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
    from benchrunner.command_line.main import main
    from inline import plugins

    words = [*WORDS, "--data", str(tmp_path), f"--checkpoint-every={every}"]
    try:
        assert main(words, plugins=plugins()) == 2
    except SystemExit as stopped:
        assert stopped.code == 2
