"""How a run of several processes ends: by Ctrl-C, by a failure of one process, by the death of their parent."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("deepspeed", reason="pre-training needs benchrunner-bert's extra 'pretrain'")

from filelock import FileLock
from pretraining_runs import environment, learned, losses, words

import forked
from benchrunner import RequestError
from benchrunner_bert.pretraining.deepspeed import launch, processes
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.checkpoints import Checkpoints
from benchrunner_bert.pretraining.training.loop import TrainingLoop


@contextlib.contextmanager
def two_processes(folder: Path) -> Iterator[forked.Process]:
    """Start a long run of two processes, in a group of their own as at a terminal; it has taken steps."""
    asked = words(folder, "out", "--processes", "2", "--checkpoint-steps", "999999", steps=999_999)
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
        assert process.wait(timeout=500) == 130
    assert saved_steps(tmp_path)[0] == killed < saved_steps(tmp_path)[1]
    assert [line["step"] for line in learned(tmp_path / "out")] == list(range(1, logged(tmp_path) + 1))


def test_a_failure_of_the_first_process_ends_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "checkpoints").write_text("no folder")
    monkeypatch.setattr(launch, "GRACE", 1.0)
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(launch.free_port())}
    asked = words(tmp_path, "out", "--checkpoint-steps", "1")[1:]
    ranks = [
        forked.Process(asked, env=environment(**common, RANK=str(rank), LOCAL_RANK=str(rank))) for rank in range(2)
    ]
    assert launch._exit_code(ranks) != 0
    _, errors = ranks[0].communicate()
    assert "checkpoints: a folder is needed here, and there is a file in its place." in errors
    assert ranks[1].wait() != 0


def test_a_run_that_another_process_works_at_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE_WITH_ANOTHER", 0.01)
    with (
        FileLock(tmp_path / ".lock"),
        pytest.raises(RequestError, match="busy: wait for it or end it"),
        processes.alone(tmp_path, "busy"),
    ):
        pytest.fail("nobody else holds it")
    with processes.alone(tmp_path, "busy"):
        pass


def test_sweep_removes_only_half_written_files(tmp_path: Path) -> None:
    for name in ("checkpoints/.step-00000001.zz.part/state", "exports/.step-2.y.part/a", ".model.x.part/b", "model/c"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    (tmp_path / ".log.jsonl.q.part").touch()
    (tmp_path / "log.jsonl").touch()
    (tmp_path / ".lock").touch()
    Checkpoints(tmp_path / "checkpoints").sweep()
    assert sorted(one.relative_to(tmp_path).as_posix() for one in tmp_path.rglob("*") if one.is_file()) == [
        ".lock",
        "log.jsonl",
        "model/c",
    ]


@pytest.mark.parametrize("world", [1, 2, 3, 4, 7])
def test_each_rank_has_sequences_in_each_round_within_budget(world: int) -> None:
    class Fake:
        def __init__(self, micro_tokens: int) -> None:
            self.engine = type("Engine", (), {"world": world})
            self.settings = Settings(micro_tokens=micro_tokens)

    for sequences in (7, 8, 60, 256):
        for micro_tokens in (100, 128, 300, 512, 1280, 16_384):
            rounds = TrainingLoop._part_count(Fake(micro_tokens), sequences, 128)  # type: ignore[arg-type]
            for rank in range(world):
                mine = range(rank, sequences, world)
                sizes = [len(mine[at::rounds]) for at in range(rounds)]
                assert min(sizes) >= 1
                # A rank with one sequence more than another may have to put two together.
                allowed = max(1, micro_tokens // 128)
                assert max(sizes) <= allowed or (rounds == sequences // world and max(sizes) == 2)
