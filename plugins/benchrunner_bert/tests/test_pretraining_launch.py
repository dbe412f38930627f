"""Several processes for one run, on this machine and on others: how they begin and how they end."""

from __future__ import annotations

import contextlib
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
from pretraining_texts import needs_deepspeed

import forked
from benchrunner import DataError, RequestError
from benchrunner.command_line.main import main
from benchrunner_bert.pretraining.deepspeed import launch, processes
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.checkpoints import Checkpoints
from benchrunner_bert.pretraining.training.feed import Feed

pytestmark = needs_deepspeed


def hostfile(folder: Path, text: str) -> Path:
    path = folder / "hosts"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_hostfile_is_read_as_deepspeed_reads_it(tmp_path: Path) -> None:
    from deepspeed.launcher.runner import fetch_hostfile

    path = hostfile(tmp_path, "# our cluster\n\nworker-0 slots=8\n  worker-1.local   slots=16  # the new one\n")
    assert launch.read_hosts(path) == {"worker-0": 8, "worker-1.local": 16} == dict(fetch_hostfile(str(path)))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("one slots=2\ntwo slot=2\n", r"hosts:2: found 'two slot=2', expected 'host slots=N'"),
        ("one\n", r"hosts:1: found 'one'"),
        ("one slots=2\n\none slots=2\n", r"hosts:3: the host one stands there twice"),
        ("# nothing\n", r"hosts: no host; a line for each is expected"),
    ],
)
def test_a_bad_hostfile_is_named_with_its_line(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        launch.read_hosts(hostfile(tmp_path, text))
    with pytest.raises(DataError, match="none: cannot be read"):
        launch.read_hosts(tmp_path / "none")


def test_deepspeeds_launcher_gets_the_same_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["pretrain", "tiny", "--corpus", "a folder"]
    alone = launch.by_hostfile(asked, hostfile(tmp_path, "localhost slots=2\n"))
    launcher = [sys.executable, "-m", "deepspeed.launcher.runner", "--hostfile", str(tmp_path / "hosts")]
    assert alone[:6] == [*launcher, "--no_local_rank"] and alone[-6:] == ["--module", "benchrunner", *asked]
    assert alone[6:9] == ["--no_ssh_check", "--master_addr", "127.0.0.1"]
    several = hostfile(tmp_path, "worker-0 slots=2\nworker-1 slots=2\n")
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(RequestError, match=r"names worker-0, worker-1: .* Install pdsh here, or .* by torchrun"):
        launch.by_hostfile(asked, several)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert launch.by_hostfile(asked, several) == [*launcher, "--no_local_rank", "--module", "benchrunner", *asked]
    other = launch.by_hostfile(asked, hostfile(tmp_path, "worker-3 slots=2\n"))
    assert other[5:8] == ["--no_local_rank", "--force_multi", "--module"], "never this machine in its place"


def test_deepspeeds_launcher_knows_every_option_that_it_is_given(tmp_path: Path) -> None:
    from deepspeed.launcher.runner import parse_args

    found = parse_args(launch.by_hostfile(["pretrain", "--out", "x"], hostfile(tmp_path, "localhost slots=2\n"))[3:])
    assert (found.user_script, found.user_args, found.module) == ("benchrunner", ["pretrain", "--out", "x"], True)
    assert found.no_ssh_check and found.no_local_rank and found.master_addr == "127.0.0.1"


def test_the_arguments_are_those_of_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = list[tuple[list[str], Path]]()
    monkeypatch.setattr(launch, "run_on_hosts", lambda words, path: found.append((words, path)) or 7)
    monkeypatch.delenv("RANK", raising=False)
    text = str(corpus(tmp_path / "corpus"))
    asked = ["pretrain", "tiny", "--corpus", text, "--out", str(tmp_path / "out"), "--hostfile", "hosts"]
    assert main(asked) == 7
    assert found == [(asked, Path("hosts"))]


@pytest.mark.parametrize(
    ("codes", "is_asked", "told"),
    [
        (
            [1, -9],
            False,
            "a process of the training was ended by SIGKILL, by somebody or for want of memory. The",
        ),
        ([1, 143], False, "a process of the training was stopped. The same command goes on from the last checkpoint."),
        ([1, 1], False, "no room"),
        ([1, 1], True, "no room"),
        ([130, 1], True, ""),
    ],
)
def test_of_many_messages_only_the_reason_is_told(
    codes: list[int], is_asked: bool, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    launch._tell(codes, ["\n", "benchrunner: no room\n", "benchrunner: Connection closed by peer\n"], is_asked=is_asked)
    said = capsys.readouterr().err
    assert said.count("\n") == bool(told) and said.startswith(f"benchrunner: {told}" if told else "")


def test_an_end_without_a_message_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    launch._tell([3], [], is_asked=False)
    assert "was ended with the exit code 3. The same command" in capsys.readouterr().err


def test_an_error_of_all_processes_is_told_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    asked = ["pretrain", "1/32/2", "--corpus", str(tmp_path / "none"), "--out", str(tmp_path / "out")]
    assert launch.run(asked, 2) == 2
    said = capfd.readouterr().err
    assert said.count("benchrunner:") == 1 and str(tmp_path / "none") in said


def test_where_one_process_fails_the_others_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "GRACE", 0.2)
    asleep = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
    began = time.monotonic()
    failing = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    assert launch._failed_codes([asleep, failing]) == [3]
    assert asleep.wait() < 0 and time.monotonic() - began < 50


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


def ended(processes: list[forked.Process], codes: list[int]) -> list[tuple[str, str]]:
    """Return what each process wrote to standard output and standard error."""
    try:
        texts = [process.communicate() for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == codes, texts
    return texts


def test_the_first_process_prepares_and_its_failure_ends_all(tmp_path: Path) -> None:
    port, asked = launch.free_port(), [sys.executable, "-c", ONCE, str(tmp_path / "log")]
    processes = [launched(asked, rank=rank, local=rank, port=port) for rank in range(2)]
    texts = ended(processes, [0, 0])
    assert texts[0][0].endswith("made no such corpus")
    assert texts[1][0].endswith("made Another process could not prepare the corpus; it says why.")


# Whole runs


@pytest.mark.slow
def test_torchrun_and_a_hostfile_do_what_processes_does(tmp_path: Path) -> None:
    run(words(tmp_path, "processes", "--zero", "1", "--processes", "2"))
    python, *asked = words(tmp_path, "torchrun", "--zero", "1")
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(launch.free_port())]
    subprocess.run([python, *torchrun, *asked], env=environment(), check=True)  # torchrun's own processes, no forks
    hosts = hostfile(tmp_path, "localhost slots=2\n")
    run(words(tmp_path, "cluster", "--zero", "1", "--hostfile", str(hosts)))
    assert losses(tmp_path / "torchrun") == losses(tmp_path / "cluster") == losses(tmp_path / "processes")
    assert len(losses(tmp_path / "cluster")) == 8


@pytest.mark.slow
def test_a_stopped_run_on_hosts_continues_from_its_checkpoint(tmp_path: Path) -> None:
    hosts = hostfile(tmp_path, "localhost slots=2\n")
    asked = words(tmp_path, "out", "--hostfile", str(hosts), steps=400)
    process = subprocess.Popen(asked, env=environment(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    log = tmp_path / "out" / "log.jsonl"
    while process.poll() is None and not (log.exists() and '"step": 5,' in log.read_text()):
        time.sleep(0.05)
    process.terminate()
    assert process.wait(timeout=200) != 0
    (saved,) = (tmp_path / "out" / "checkpoints").glob("step-*")
    assert 5 <= int(saved.name.removeprefix("step-")) < 400


@pytest.mark.slow
def test_machines_without_a_shared_folder_must_prepare_alike(tmp_path: Path) -> None:
    """Two processes that are each the first of their machine, with folders of their own."""
    for name in ("one", "two"):
        corpus(tmp_path / name / "corpus")

    def both(code: int) -> str:
        port = launch.free_port()
        asked = [words(tmp_path / name, "out", "--checkpoint-steps", "3") for name in ("one", "two")]
        started = [launched(one, rank=rank, local=0, port=port) for rank, one in enumerate(asked)]
        return "".join(errors for _, errors in ended(started, [code, code]))

    both(0)
    assert len(losses(tmp_path / "one" / "out")) == 8 and not (tmp_path / "two" / "out" / "model").exists()
    (tmp_path / "one" / "out" / "finished.json").unlink()
    assert "The processes find different checkpoints" in both(2)
    for name in ("one", "two"):
        (tmp_path / name / "out").rename(tmp_path / name / "old")
    corpus(tmp_path / "two" / "corpus", seed=1)
    assert "is not the same on all machines" in both(2)


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
    assert process.returncode == 1 and errors.count("\n") == 1
    assert errors.startswith("benchrunner: a process of the training was ended by SIGKILL")


def test_a_failure_of_the_first_process_ends_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "checkpoints").write_text("no folder")
    monkeypatch.setattr(launch, "GRACE", 1.0)
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(launch.free_port())}
    asked = words(tmp_path, "out", "--checkpoint-steps", "1")[1:]
    ranks = [
        forked.Process(asked, env=environment(**common, RANK=str(rank), LOCAL_RANK=str(rank))) for rank in range(2)
    ]
    assert launch._failed_codes(ranks)
    _, errors = ranks[0].communicate()
    assert "checkpoints is not a folder that can be written to." in errors
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
    for sequences in (7, 8, 60, 256):
        for micro_tokens in (100, 128, 300, 512, 1280, 16_384):
            rounds = Feed(Settings(micro_tokens=micro_tokens), {}, world=world).part_count(sequences, 128)
            for rank in range(world):
                mine = range(rank, sequences, world)
                sizes = [len(mine[at::rounds]) for at in range(rounds)]
                assert min(sizes) >= 1
                # A rank with one sequence more than another may have to put two together.
                allowed = max(1, micro_tokens // 128)
                assert max(sizes) <= allowed or (rounds == sequences // world and max(sizes) == 2)
