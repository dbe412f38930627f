"""Damaged files of a pre-training are named, with what to do; a killed pre-training leaves nothing behind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pretraining_runs import COMMAND, QUICK, corpus, environment, weights, words

import forked
from benchrunner.engine import seals
from file_damages import Damage, as_folder, cut, flip
from kill_points import KillPoints


def zeroed(path: Path) -> None:
    """Set a third of the file to zero."""
    content, third = path.read_bytes(), path.stat().st_size // 3
    path.write_bytes(content[:third] + bytes(third) + content[2 * third :])


DAMAGES: dict[str, Damage] = {
    "flip 0": flip(0),
    "flip 1": flip(1),
    "zeroed": zeroed,
    "half": cut(0.5),
    "one byte": lambda path: path.write_bytes(b"x"),
    "empty": lambda path: path.write_bytes(b""),
    "missing": Path.unlink,
    "a folder": as_folder,
}
STARTS = ["sentence_starts.bin", "document_starts.bin"]
TOKENS = [*STARTS, "tokens.bin", "vocab.txt", "manifest.json", "learnt.txt", "learnt.json"]
CHECKPOINT = ["state.safetensors", "state.json"]
BEGUN = [*(f"tokens/{name}" for name in TOKENS), *(f"checkpoints/step-00000002/{name}" for name in CHECKPOINT)]
MODEL = ["model.safetensors", "config.json", "tokenizer.json", "vocab.txt"]
FINISHED = ["finished.json", *(f"model/{name}" for name in MODEL)]
FAST = {
    ("tokens/sentence_starts.bin", "flip 0"),
    ("tokens/tokens.bin", "zeroed"),
    ("tokens/learnt.txt", "flip 1"),
    ("checkpoints/step-00000002/state.safetensors", "flip 0"),
    ("checkpoints/step-00000002/state.safetensors", "half"),
    ("checkpoints/step-00000002/state.json", "flip 1"),
    ("model/model.safetensors", "missing"),
    ("model/model.safetensors", "one byte"),
    ("finished.json", "a folder"),
}


def table(names: list[str]) -> list[object]:
    cases = [(name, damage) for name in names for damage in DAMAGES]
    return [
        pytest.param(*case, marks=() if case in FAST else pytest.mark.slow, id=f"{case[0]} {case[1]}") for case in cases
    ]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of four steps with a checkpoint at each."""
    folder = tmp_path_factory.mktemp("home")
    corpus(folder / "corpus")
    code, error = pretrain(folder)
    assert code == 0, error
    return folder


@pytest.fixture
def copy(home: Path, tmp_path: Path) -> Path:
    """A copy of the finished run, beside its corpus."""
    shutil.copytree(home / "out", tmp_path / "out")
    shutil.copytree(home / "corpus", tmp_path / "corpus")
    return tmp_path


def pretrain(folder: Path, before: str = "") -> tuple[int, str]:
    """Run code and the command in a process, as DeepSpeed needs it; return its exit code and standard error."""
    command = words(folder, "out", "--checkpoint-steps", "2", "--keep-checkpoints", "9", steps=4)[1:]
    done = forked.run(["-c", before + COMMAND, *command], env=environment())
    return done.returncode, done.stderr


def begun(copy: Path) -> Path:
    """Take back what the run did after its second step."""
    (copy / "out" / "finished.json").unlink()
    shutil.rmtree(copy / "out" / "model")
    shutil.rmtree(copy / "out" / "checkpoints" / "step-00000004")
    return copy / "out"


def check(copy: Path, home: Path, damaged: Path) -> None:
    """Run the command: it names the damaged file and a remedy in one line, or makes the model of the unbroken run."""
    code, error = pretrain(copy)
    if code == 0:
        assert weights(copy / "out") == weights(home / "out")
        return
    (said,) = [text for text in error.splitlines() if text.startswith("benchrunner: ")]
    assert code == 2 and "Traceback" not in error
    assert str(damaged) in said and "Remove " in said and said.isprintable(), said


@pytest.mark.parametrize(("name", "damage"), table(BEGUN))
def test_a_run_with_a_damaged_file_is_refused_or_the_same(copy: Path, home: Path, name: str, damage: str) -> None:
    path = begun(copy) / name
    DAMAGES[damage](path)
    check(copy, home, path)


@pytest.mark.parametrize(("name", "damage"), table(FINISHED))
def test_a_damaged_model_is_not_finished(copy: Path, home: Path, name: str, damage: str) -> None:
    path = copy / "out" / name
    DAMAGES[damage](path)
    check(copy, home, path)
    finished = copy / "out" / "finished.json"  # the remedy that the message names
    shutil.rmtree(finished) if finished.is_dir() else finished.unlink(missing_ok=True)
    assert pretrain(copy)[0] == 0 and weights(copy / "out") == weights(home / "out")


@pytest.mark.parametrize("step", [10**9, *(pytest.param(step, marks=pytest.mark.slow) for step in (5, 0, -1, 3))])
def test_a_checkpoint_of_an_impossible_step_is_refused(copy: Path, home: Path, step: int) -> None:
    """Also where whoever wrote the number made the checksum and the folder's name right again."""
    checkpoint = begun(copy) / "checkpoints" / "step-00000002"
    facts = seals.read_sealed(checkpoint / "state.json", "")
    seals.write_sealed(checkpoint / "state.json", {**facts, "step": step})
    check(copy, home, checkpoint)
    renamed = checkpoint.rename(checkpoint.with_name(f"step-{step:08}"))
    if step != 3:
        check(copy, home, renamed)
    assert not (copy / "out" / "model").exists()


FULL = """
import safetensors.torch
def full(tensors, path, **more):
    path.write_bytes(b"half")
    raise safetensors.SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
safetensors.torch.save_file = full
"""


def test_a_disk_that_is_full_during_a_checkpoint_is_one_sentence(copy: Path, home: Path) -> None:
    begun(copy)
    code, error = pretrain(copy, FULL)
    assert code == 1 and "Traceback" not in error
    assert f"benchrunner: {copy / 'out'}: No space left on device. Make room, then repeat the command" in error
    assert not list((copy / "out").rglob("*.part"))
    assert pretrain(copy)[0] == 0 and weights(copy / "out") == weights(home / "out")


WORDS = ("pretrain", "1/32/2", "--corpus", "corpus", "--out", "out", "--runs", "runs", "--steps", "3", *QUICK)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_run_killed_at_every_change_leaves_nothing_behind(tmp_path: Path) -> None:
    points = KillPoints(
        tmp_path,
        (*WORDS, "--checkpoint-steps", "1", "--export-at", "2"),
        lambda home: corpus(home / "corpus"),
        environment={"INSTALLED": "1"},
    )
    changes, expected = points.whole()
    assert len(changes) > 5
    assert "finished.json" in changes[-1], "nothing that a kill could leave behind follows the end of the run"
    faults = list[str]()
    for point, change in enumerate(changes, start=1):
        faults += [f"{fault} ({change})" for fault in points.faults(point, expected)]
    print(f"pretrain: {len(changes)} points, {len(faults)} faults")
    assert faults == []
