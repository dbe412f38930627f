"""The commands of a study file that build backbones: shared backbones, failures and stop signals."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from benchrunner import RequestError
from benchrunner.results import Fit, discover
from benchrunner_studies.system_commands import wait_passing_signals
from inline import METHODS, STATISTICS, STUDIES, mood, own, pairs, plugin
from kitchen import STUDY, Kitchen

pytestmark = pytest.mark.usefixtures("narrow_bilstm")


@pytest.mark.parametrize(("number", "code"), [(2, 2), (7, 1)])
def test_a_command_that_fails_ends_the_study_with_its_name(number: int, code: int, kitchen: Kitchen) -> None:
    words = ["--study", "study.toml", "--set", "doughs=burnt", f"more={number}", "--quiet"]
    exit_code, out, err = kitchen(*words)
    assert (exit_code, out) == (code, "")
    assert (
        "it burns" in err and f"ended with exit code {number}; its own message is above: benchrunner bake burnt" in err
    )
    assert not (kitchen.folder / "fits").exists()


def test_a_command_that_was_stopped_stops_the_study(kitchen: Kitchen) -> None:
    code, _, err = kitchen("--study", "study.toml", "--set", "doughs=burnt", "more=130")
    assert code == 130 and "The same command goes on from here" in err


def test_a_command_that_leaves_no_backbone_is_an_error(kitchen: Kitchen) -> None:
    (kitchen.folder / "study.toml").write_text(STUDY.replace('backbone = "out/{dough}"', 'backbone = "in/{dough}"'))
    assert "study.toml, system rye: There is no backbone 'in/rye'" in kitchen.refused("--quiet")


@pytest.mark.parametrize("refused_fits", [False, True])
def test_an_observer_refuses_before_commands_and_fits(refused_fits: bool, kitchen: Kitchen) -> None:
    """An observer is asked without fits before the first command, and with the fits before the first of them."""

    def before_study(fits: Sequence[Fit]) -> None:
        if bool(fits) == refused_fits:
            raise RequestError("no baking today")

    own_tasks = ("own", own(register_tasks=[mood(), pairs()]))
    extra = [METHODS, STATISTICS, STUDIES, own_tasks, ("closed", plugin(before_study=before_study))]
    kitchen.plugins = discover(extra=extra, installed=False)
    assert "no baking today" in kitchen.refused("--quiet")
    assert kitchen.made() == ["rye", "spelt"] * refused_fits
    assert not list(kitchen.folder.glob("fits/*/fit.json"))


COUNT_SIGNALS = """
import signal, sys, time
signals = []
signal.signal(signal.SIGINT, lambda number, frame: signals.append(number))
print("ready", flush=True)
while not signals:
    time.sleep(0.01)
time.sleep(0.3)
sys.exit(40 + len(signals))
"""


def test_a_stop_signal_reaches_the_command_once() -> None:
    """Send the signal to one process; a terminal sends it to the whole group of processes."""
    process = subprocess.Popen([sys.executable, "-c", COUNT_SIGNALS], stdout=subprocess.PIPE, process_group=0)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    # The handler is set, because a job in the background ignores the signal.
    previous_handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            wait_passing_signals(process)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        timer.join()
        process.stdout.close()
        signal.signal(signal.SIGINT, previous_handler)
    assert process.returncode == 41


PARENT = """
import pathlib, sys
from benchrunner import Workspace
from benchrunner_studies.system_commands import run_command
folder = pathlib.Path(sys.argv[1])
run_command([], Workspace(folder, folder), program=(sys.executable, "-c", sys.argv[2]))
"""
COMMAND = """
import os, time
from benchrunner.process.interrupts import end_with_parent
end_with_parent()
print(os.getpid(), "BENCHRUNNER_STARTED_BY" in os.environ, file=open("started.part", "w"))
os.rename("started.part", "started")
time.sleep(600)
"""


def test_a_command_ends_when_its_study_is_killed(tmp_path: Path) -> None:
    words = [sys.executable, "-c", PARENT, str(tmp_path), COMMAND]
    study = subprocess.Popen(words, cwd=tmp_path, process_group=0)
    try:
        _wait_until(lambda: (tmp_path / "started").exists())
        number, inherited = (tmp_path / "started").read_text().split()
        assert inherited == "False", "the command's own processes must not watch the pipe"
    finally:
        study.kill()
        study.wait()
    _wait_until(lambda: not _runs(int(number)))


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _runs(number: int) -> bool:
    """Return whether a process runs; nobody may have waited for one that has ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("command", ["list --json", "compare --study {here}/study.toml", "bake --help"])
def test_a_study_file_runs_only_commands_that_build(command: str, kitchen: Kitchen) -> None:
    """Other commands can delete what a study needs, or run the study itself without end."""
    weights = kitchen.folder / "fits" / "a" / "model" / "model.safetensors"
    weights.parent.mkdir(parents=True)
    weights.touch()
    text = STUDY.replace('make = "bake {dough} out/{dough} {more}"', f'make = "{command}"')
    (kitchen.folder / "study.toml").write_text(text)
    for further in ("--quiet", "--dry-run"):
        error = kitchen.refused("--columns", "taste", "--systems", "rye", further)
        assert "system rye: This command builds no backbone: benchrunner" in error
    assert weights.exists() and not kitchen.made()
