"""Several processes for one run: how they begin and how they end."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from pretraining_runs import corpus, environment, learned, losses, run, words

import forked
from benchrunner import FitError, RequestError
from benchrunner_bert.pretraining.continuation import check_same
from benchrunner_bert.pretraining.deepspeed import processes
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.checkpoints import Checkpoints
from benchrunner_bert.pretraining.training.feed import Feed

ENDED = "a process of the training was ended {}. The same command goes on from the last checkpoint."


def test_an_error_of_all_processes_is_raised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with pytest.raises(RequestError, match="belongs to another request"):
        processes.run(functools.partial(check_same, {"lr": 1}, {"lr": 2}, Path("out")), 2)  # type: ignore[arg-type]


def one_fails() -> bool:
    if os.environ["RANK"] == "1":
        os._exit(3)
    time.sleep(100)
    return True


def test_where_one_process_fails_the_others_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.2)
    began = time.monotonic()
    with pytest.raises(FitError, match=ENDED.format("with the exit code 3")):
        processes.run(one_fails, 2)
    assert time.monotonic() - began < 50


def one_is_stopped() -> bool:
    return os.environ["RANK"] == "1"


def test_a_process_that_is_stopped_stops_the_run() -> None:
    with pytest.raises(KeyboardInterrupt):
        processes.run(one_is_stopped, 2)


ONCE = """
import sys
from pathlib import Path
from benchrunner.errors import RequestError
from benchrunner_bert.pretraining.deepspeed.processes import first_here
def work():
    with Path(sys.argv[1]).open("a") as file:
        file.write("made ")
def fail():
    raise RequestError("no such corpus")
first_here(work)
made = Path(sys.argv[1]).read_text()
try:
    first_here(fail)
except RequestError as error:
    print(made + str(error), end="")
"""


def launched(asked: list[str], *, rank: int, port: int, local: int) -> forked.Process:
    """Start one of two processes."""
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    own = {"RANK": str(rank), "LOCAL_RANK": str(local), "PYTHONWARNINGS": "ignore"}
    return forked.Process(asked[1:], env=environment(**common, **own))


def ended(started: list[forked.Process], codes: list[int]) -> list[tuple[str, str]]:
    """Return what each process wrote to standard output and standard error."""
    try:
        texts = [process.communicate() for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == codes, texts
    return texts


def test_the_first_process_prepares_and_its_failure_ends_all(tmp_path: Path) -> None:
    port, asked = processes.free_port(), [sys.executable, "-c", ONCE, str(tmp_path / "log")]
    texts = ended([launched(asked, rank=rank, local=rank, port=port) for rank in range(2)], [0, 0])
    assert texts[0][0].endswith("made no such corpus")
    assert texts[1][0].endswith("made Another process could not prepare the corpus; it says why.")


# Whole runs


@pytest.mark.slow
def test_torchrun_does_what_processes_does(tmp_path: Path) -> None:
    run(words(tmp_path, "processes", "--zero", "1", "--processes", "2"))
    python, *asked = words(tmp_path, "torchrun", "--zero", "1")
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(processes.free_port())]
    subprocess.run([python, *torchrun, *asked], env=environment(), check=True)  # torchrun's own processes, no forks
    assert losses(tmp_path / "torchrun") == losses(tmp_path / "processes")
    assert len(losses(tmp_path / "torchrun")) == 8


@pytest.mark.slow
def test_machines_without_a_shared_folder_must_prepare_alike(tmp_path: Path) -> None:
    """Two processes that are each the first of their machine, with folders of their own."""

    def both(code: int, out: str = "out") -> str:
        port = processes.free_port()
        asked = [words(tmp_path / name, out, "--checkpoint-steps", "3") for name in ("one", "two")]
        started = [launched(one, rank=rank, local=0, port=port) for rank, one in enumerate(asked)]
        return "".join(errors for _, errors in ended(started, [code, code]))

    both(0)
    assert len(losses(tmp_path / "one" / "out")) == 8 and not (tmp_path / "two" / "out" / "model").exists()
    (tmp_path / "one" / "out" / "finished.json").unlink()
    assert "The processes find different checkpoints" in both(2)
    corpus(tmp_path / "two" / "corpus", seed=1)
    assert "is not the same on all machines" in both(2, "another")


@contextlib.contextmanager
def two_processes(folder: Path, *more: str) -> Iterator[forked.Process]:
    """Start a long run of two processes, in a group of their own as at a terminal; it has taken steps."""
    asked = words(folder, "out", "--processes", "2", "--checkpoint-steps", "999999", *more, steps=999_999)
    steps = logged(folder)
    process = forked.Process(asked[1:], env=environment(), start_new_session=True)
    try:
        wait_until(lambda: process.poll() is not None or logged(folder) >= steps + 3)
        assert process.poll() is None
        yield process
    finally:
        process.kill()
        process.wait()


def logged(folder: Path) -> int:
    """Return the last step of the log."""
    log = folder / "out" / "log.jsonl"
    return len(losses(folder / "out")) if log.exists() else 0


def wait_until(reached: Callable[[], object]) -> None:
    end = time.monotonic() + 500
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


def saved_steps(folder: Path) -> list[int]:
    return sorted(int(path.name.removeprefix("step-")) for path in (folder / "out" / "checkpoints").glob("step-*"))


@pytest.mark.slow
def test_two_processes_save_when_their_parent_ends(tmp_path: Path) -> None:
    """The terminal sends Ctrl-C to the whole group; a process that heard it twice would stop without a checkpoint."""
    with two_processes(tmp_path) as process:
        process.kill()
        process.wait()
        wait_until(lambda: saved_steps(tmp_path))
    (killed,) = saved_steps(tmp_path)
    assert killed >= 3
    with two_processes(tmp_path) as process:  # the same command goes on
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=500)
        assert process.returncode == 130 and errors.count("benchrunner: stopped") == 1
    assert saved_steps(tmp_path)[0] == killed < saved_steps(tmp_path)[1]
    assert [line["step"] for line in learned(tmp_path / "out")] == list(range(1, logged(tmp_path) + 1))


@pytest.mark.slow
def test_a_killed_process_is_told_in_one_sentence(tmp_path: Path) -> None:
    with two_processes(tmp_path, "--zero", "2", "--quiet") as process:
        children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=True).stdout
        os.kill(int(children.split()[-1]), signal.SIGKILL)
        _, errors = process.communicate()
    told = ENDED.format("by SIGKILL, by somebody or for want of memory")
    assert (process.returncode, errors) == (1, f"benchrunner: {told}\n")


def test_a_run_that_another_process_works_at_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE_WITH_ANOTHER", 0.01)
    with (
        FileLock(tmp_path / ".lock"),
        pytest.raises(RequestError, match="is being trained by another process: wait for it or end it"),
        processes.alone(tmp_path),
    ):
        pytest.fail("nobody else holds it")
    with processes.alone(tmp_path):
        pass


def test_sweep_removes_only_half_written_files(tmp_path: Path) -> None:
    kept = (".lock", "log.jsonl", "model/c")
    for name in ("checkpoints/.step-00000001.zz.part/state", ".model.x.part/b", ".log.jsonl.q.part", *kept):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    Checkpoints(tmp_path / "checkpoints").sweep()
    assert {one.relative_to(tmp_path).as_posix() for one in tmp_path.rglob("*") if one.is_file()} == {*kept}


@pytest.mark.parametrize("world", [1, 2, 3, 4, 7])
def test_each_rank_has_sequences_in_each_round_within_budget(world: int) -> None:
    for sequences, micro_tokens in itertools.product((7, 8, 60, 256), (100, 128, 300, 512, 1280, 16_384)):
        rounds = Feed(Settings(micro_tokens=micro_tokens), {}, world=world).part_count(sequences, 128)
        sizes = [len(range(rank, sequences, world)[at::rounds]) for rank in range(world) for at in range(rounds)]
        assert min(sizes) >= 1
        # A rank with one sequence more than another may have to put two together.
        assert max(sizes) <= max(1, micro_tokens // 128) or (rounds == sequences // world and max(sizes) == 2)
