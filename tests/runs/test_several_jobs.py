"""Several fits at once, as commands: interrupted, they return within seconds and leave no process and no new fit."""

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import forked
from inline import files

TESTS = Path(__file__).parents[1] / "support"
STOPPED = "\nbenchrunner: stopped{}. The same command goes on from here; finished fits are not run again.\n"
RETURNS = 10.0
"""Seconds in which a command must return after Ctrl-C."""
RUN = (
    *("-m", "benchrunner", "run", "mine/mood", "--backbone", "tiny/words", "--lr", "0.03", "--batch-size", "2"),
    *("--device", "cpu", "--data", "data", "--runs", "runs"),
)
SEVERAL = ("--jobs", "2", "--restarts", "6", "--quiet")


@dataclass(frozen=True)
class Command:
    """A command line in a session of its own, as a terminal starts it."""

    process: forked.Process
    marks: Path

    def wait_for(self, pattern: str, count: int = 1) -> None:
        """Wait until that many processes or fits have left a mark."""
        self.wait_until(lambda: len(self.marked(pattern)) >= count)

    def wait_until(self, reached: Callable[[], object]) -> None:
        end = time.monotonic() + 500
        while not reached():
            assert self.process.poll() is None, f"the command ended by itself: {self.process.communicate()}"
            assert time.monotonic() < end, f"not reached, only {self.marked('*')}"
            time.sleep(0.02)

    def marked(self, pattern: str) -> set[str]:
        return {path.name for path in self.marks.glob(pattern)}

    def alive(self) -> list[int]:
        """Return the processes of the session that have not ended."""
        processes = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, _, session = stat.read_text().rsplit(")", 1)[1].split()[:4]
            except OSError:  # the process has ended meanwhile
                continue
            if int(session) == self.process.pid and state != "Z":
                processes.append(int(stat.parent.name))
        return processes

    def interrupt(self, *, to: signal.Signals = signal.SIGINT, group: bool = True) -> None:
        """A terminal sends its signal to every process of the group; `kill PID` to one."""
        with contextlib.suppress(ProcessLookupError):  # it has ended, and nobody is left
            (os.killpg if group else os.kill)(self.process.pid, to)

    def stopped(self, within: float = RETURNS, *, by: signal.Signals = signal.SIGINT) -> None:
        """Wait for the end of the command and check how it ended."""
        told = STOPPED.format("" if by == signal.SIGINT else f" by {by.name}")
        began = time.monotonic()
        out, err = self.process.communicate()
        seconds = time.monotonic() - began
        err = re.sub(r"^benchrunner: another process runs \w+\n", "", err, flags=re.MULTILINE)  # said though quiet
        assert (self.process.returncode, out, err) == (128 + by, "", told)
        assert seconds < within
        assert self.alive() == []


Start = Callable[..., Command]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start commands in one home; kill their processes after the test."""
    commands: list[Command] = []
    files(1, tmp_path / "data")
    installed = tmp_path / "site" / "held-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: held\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[benchrunner]\nheld = held_plugin\n")

    def begin(
        *words: str, program: tuple[str, ...] = RUN, hold: str = "", name: str = "marks", **environ: str
    ) -> Command:
        marks = tmp_path / name
        marks.mkdir()
        more = {
            "PYTHONPATH": f"{tmp_path / 'site'}{os.pathsep}{TESTS}",
            "BENCHRUNNER_CACHE": str(tmp_path / "cache"),
            "HOLD": hold,
            "MARKS": str(marks),
        }
        process = forked.Process(
            [*program, *words], cwd=tmp_path, env={**os.environ, **more, **environ}, start_new_session=True
        )
        commands.append(Command(process, marks))
        return commands[-1]

    yield begin
    for command in commands:
        for process in command.alive():
            os.kill(process, signal.SIGKILL)
        command.process.communicate()


def checkpoints(home: Path) -> int:
    return len(list(home.glob("runs/*/checkpoint/state.safetensors")))


@pytest.mark.parametrize(
    ("by", "group"),
    [
        (signal.SIGINT, True),
        pytest.param(signal.SIGTERM, False, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, False, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, True, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, False, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, True, marks=pytest.mark.slow),
    ],
)
def test_a_stop_leaves_checkpoints_and_no_fit(by: signal.Signals, group: bool, start: Start, tmp_path: Path) -> None:
    """However busy the machine is: the workers have more time than usual to write their checkpoints."""
    command = start(*SEVERAL, "--epochs", "4000", hold="training", GRACE="300", FORKED="yes")
    command.wait_for("training-*", 2)
    begun = command.marked("begun-*")
    command.interrupt(to=by, group=group)
    command.stopped(within=300, by=by)
    assert command.marked("begun-*") == begun
    assert (len(begun), checkpoints(tmp_path)) == (2, 2)


@pytest.mark.slow
def test_impatient_ctrl_c_ends_at_once(start: Start) -> None:
    command = start(*SEVERAL, hold="stuck in a step")
    command.wait_for("stuck*", 2)
    for _ in range(3):
        command.interrupt()
        time.sleep(0.5)
    command.stopped(within=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "processes"),
    [
        ("parent imports plugins", 1),
        ("worker imports plugins", 2),
        ("encoding", 2),
        ("stuck in a step", 2),
        ("predicting", 2),
    ],
)
def test_ctrl_c_returns_at_every_moment(moment: str, processes: int, start: Start) -> None:
    command = start(*SEVERAL, hold=moment)
    command.wait_for(f"{moment}-*", processes)
    begun = command.marked("begun-*")
    command.interrupt()
    command.stopped()
    assert command.marked("begun-*") == begun


@pytest.mark.slow
def test_ctrl_c_while_workers_start(start: Start) -> None:
    command = start(*SEVERAL)
    command.wait_until(lambda: len(command.alive()) > 2)
    command.interrupt()
    command.stopped()
    assert not command.marked("begun-*")


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_while_the_parent_predicts(by: signal.Signals, start: Start) -> None:
    command = start(*SEVERAL, "--method", "poor", hold="parent predicts")
    command.wait_for("parent predicts-*")
    command.interrupt(to=by, group=False)
    command.stopped(by=by)


@pytest.mark.slow
def test_ctrl_c_while_workers_wait_for_a_lock(start: Start) -> None:
    holder = start(*SEVERAL, "--epochs", "400", hold="training", name="first")
    holder.wait_for("training-*", 2)
    command = start(*SEVERAL, "--epochs", "400", hold="waiting", name="second")
    command.wait_for("waiting-*", 2)
    command.interrupt()
    command.stopped()
    holder.interrupt()
    holder.stopped()


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["training", "stuck in a step", "encoding"])
def test_workers_end_with_a_killed_parent(moment: str, start: Start, tmp_path: Path) -> None:
    command = start(*SEVERAL, "--epochs", "400", hold=moment)
    command.wait_for(f"{moment}-*", 2)
    command.interrupt(to=signal.SIGKILL, group=False)
    end = time.monotonic() + RETURNS
    while command.alive():
        assert time.monotonic() < end
        time.sleep(0.05)
    assert checkpoints(tmp_path) == (2 if moment == "training" else 0)


SCRIPT = """
import json
from pathlib import Path
from benchrunner import Workspace
from benchrunner.results import Computing, Runner, discover
from benchrunner.runs.local_executor import Local

events = []
workspace = Workspace(Path("runs"), Path("cache"), data=Path("data"))
runner = Runner(discover(), workspace, Computing("cpu"), report=lambda fit, event: events.append((fit.id, event.kind)))
task = runner.plugins.tasks.find("mine/mood")
fits = [runner.planner.plan(task, "tiny/words", seed=seed) for seed in range(3)]
records = {fit.id: record.status for fit, record in Local(2).run(fits, runner.fit_runner)}
predicted = [len(list(runner.folder(fit).path.glob("predictions/*/record.json"))) for fit in fits]
seen = {fit for fit, kind in events} == set(records)
print(json.dumps([sorted(records.values()), predicted, seen, sorted({kind for fit, kind in events})]))
"""
"""No `if __name__ == "__main__"`: a worker does not run the script of its parent again."""


@pytest.mark.slow
def test_workers_finish_fits_and_report_their_progress(start: Start) -> None:
    command = start(program=("-c", SCRIPT), hold="nothing, but print")
    out, err = command.process.communicate()
    assert json.loads(out) == [["done"] * 3, [1] * 3, True, ["encoding", "predicting", "step"]]
    assert set(err.split()) == {"noise"}
    assert (command.process.returncode, command.alive()) == (0, [])


AUTOMATIC = """
import sys
from benchrunner.command_line.main import main
from benchrunner.runs import core_shares
core_shares.WORTH_FLOPS, core_shares.available_cores = 0.0, lambda: 2
sys.exit(main(sys.argv[1:]))
"""


def threads(home: Path) -> list[int]:
    """Return the numbers of threads in the records of all fits."""
    records = [json.loads(file.read_text()) for file in home.glob("runs/*/record.json")]
    return sorted(record["numerics"]["threads"] for record in records if "threads" in record["numerics"])


@pytest.mark.slow
def test_fits_on_a_cpu_share_the_cores_by_themselves(start: Start, tmp_path: Path) -> None:
    """A command that is stopped and repeated gives each fit the threads of a command that is not."""
    words = ("run", "mine/mood", "--backbone", "tiny/words", "--lr", "0.03", "--device", "cpu", "--data", "data")
    three = (*words, "--runs", "runs", "--restarts", "3")
    stopped = start(*three, "--epochs", "40", program=("-c", AUTOMATIC), hold="training")
    stopped.wait_for("training-*", 2)
    stopped.wait_until(lambda: threads(tmp_path))  # the first fit is finished
    stopped.interrupt()
    _, err = stopped.process.communicate()
    assert stopped.process.returncode == 130 and stopped.alive() == []
    note = "3 fits are left to run, 2 at a time with 1 or 2 threads each; --jobs 1 runs them one after another"
    assert note in err
    again = start(*three, "--epochs", "40", program=("-c", AUTOMATIC), name="again")
    assert (again.process.wait(), again.alive()) == (0, [])
    assert threads(tmp_path) == [1, 1, 2]


@pytest.mark.slow
def test_a_worker_that_dies_is_told(start: Start) -> None:
    command = start(*SEVERAL, "--epochs", "400", hold="training")
    command.wait_for("training-*", 2)
    os.kill(int(min(command.marked("training-*")).removeprefix("training-")), signal.SIGKILL)
    out, err = command.process.communicate()
    assert (command.process.returncode, out) == (1, "")
    assert err.startswith("benchrunner: A worker process died while it ran the fit ") and len(err.splitlines()) == 1
    assert err.endswith(", perhaps of too little memory: use fewer --jobs. The same command goes on from here.\n")
    assert command.alive() == []
