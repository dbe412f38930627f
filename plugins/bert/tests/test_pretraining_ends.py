"""How a run of several processes ends: by Ctrl-C, by a failure of one of them, by the death of who started them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

pytest.importorskip("deepspeed", reason="pre-training needs benchrunner-bert's extra 'pretrain'")

from filelock import FileLock
from pretraining_runs import corpus, environment, losses, run, words

from benchrunner.errors import RequestError
from benchrunner_bert.pretraining.deepspeed import processes
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.checkpoints import Checkpoints
from benchrunner_bert.pretraining.training.loop import Pretraining


def started(folder: Path, *more: str, steps: int) -> subprocess.Popen[bytes]:
    """Two processes, in a group of their own as a terminal makes one, that have taken some steps."""
    asked = words(folder, "out", "--processes", "2", "--checkpoint-steps", "9999", *more, steps=steps)
    process = subprocess.Popen(
        asked,
        env=environment(),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    until = time.monotonic() + 300
    while len(losses(folder / "out")) < 3 if (folder / "out" / "log.jsonl").exists() else True:
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    return process


def test_ctrl_c_at_a_terminal_leaves_a_checkpoint(tmp_path: Path) -> None:
    """The terminal sends it to the whole group, and whoever hears it twice stops at once."""
    corpus(tmp_path / "corpus")
    process = started(tmp_path, steps=5000)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=120) == 130
    (saved,) = (tmp_path / "out" / "checkpoints").glob("step-*")
    assert int(saved.name.removeprefix("step-")) >= 3


def test_processes_save_and_end_when_who_started_them_is_killed_and_the_same_command_goes_on(tmp_path: Path) -> None:
    corpus(tmp_path / "corpus")
    process = started(tmp_path, steps=60)
    process.kill()
    process.wait()
    run(words(tmp_path, "out", "--processes", "2", "--checkpoint-steps", "9999", steps=60))
    assert len(losses(tmp_path / "out")) == 60
    assert (tmp_path / "out" / "finished.json").is_file()


def test_a_failure_of_the_first_process_alone_ends_all_and_is_told(tmp_path: Path) -> None:
    corpus(tmp_path / "corpus")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "checkpoints").write_text("no folder")
    asked = words(tmp_path, "out", "--processes", "2", "--checkpoint-steps", "1")
    done = subprocess.run(asked, env=environment(), capture_output=True, text=True, timeout=200)
    assert done.returncode != 0
    assert "checkpoints" in done.stderr and ("exists" in done.stderr or "not a directory" in done.stderr.lower())


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


def test_what_killed_processes_left_half_written_is_removed_and_nothing_else(tmp_path: Path) -> None:
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
def test_every_process_has_a_sequence_in_every_part_and_no_part_is_larger_than_was_asked_for(world: int) -> None:
    class Fake:
        def __init__(self, micro_tokens: int) -> None:
            self.engine = type("Engine", (), {"world": world})
            self.settings = Settings(micro_tokens=micro_tokens)

    for sequences in (7, 8, 60, 256):
        for micro_tokens in (100, 128, 300, 512, 1280, 16_384):
            rounds = Pretraining._rounds(Fake(micro_tokens), sequences, 128)  # type: ignore[arg-type]
            for rank in range(world):
                mine = range(rank, sequences, world)
                sizes = [len(mine[at::rounds]) for at in range(rounds)]
                assert min(sizes) >= 1
                # A rank with one sequence more than another may have to put two together.
                allowed = max(1, micro_tokens // 128)
                assert max(sizes) <= allowed or (rounds == sequences // world and max(sizes) == 2)
