"""Whole pre-trainings, as a user starts them: killed, resumed, on several processes, at every ZeRO stage."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pretraining_runs import (
    corpus,
    environment,
    killed_at,
    learned,
    losses,
    model_card,
    refusal,
    run,
    stopped_at,
    weights,
    words,
)

BORDER = 12
"""The second phase of a run of 16 steps begins after this step."""
BROKEN = ("--checkpoint-steps", "5", "--keep-checkpoints", "9")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, and a run of 16 steps that nothing stopped."""
    folder = tmp_path_factory.mktemp("home")
    corpus(folder / "corpus")
    run(words(folder, "unbroken", *BROKEN, steps=16), OMP_NUM_THREADS="1")
    return folder


FRESH = """
import logging, runpy
from benchrunner_bert.pretraining.deepspeed.processes import load_deepspeed
load_deepspeed()
logging.getLogger("DeepSpeed").warning("an untested optimizer")
logging.getLogger("DeepSpeed").error("a real error")
runpy.run_module("benchrunner", run_name="__main__", alter_sys=True)
"""


def test_a_killed_run_goes_on_to_the_same_bits(home: Path) -> None:
    """In a process that imports all itself, with another hash seed; killed after a step of the second phase.

    The process learns the vocabulary and writes the tokens again. DeepSpeed writes errors alone, and to standard error:
    its import chooses the stream.
    """
    asked = words(home, "killed", *BROKEN, steps=16)
    assert stopped_at(asked, BORDER + 2, OMP_NUM_THREADS="1") == -signal.SIGKILL
    assert len(losses(home / "killed")) == BORDER + 2
    shutil.rmtree(home / "killed" / "tokens")
    fresh = [sys.executable, "-c", FRESH, *asked[3:]]
    done = subprocess.run(fresh, env=environment(OMP_NUM_THREADS="1"), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    assert losses(home / "killed") == losses(home / "unbroken")
    assert weights(home / "killed") == weights(home / "unbroken")
    assert sum(losses(home / "unbroken")[-5:]) < 0.9 * sum(losses(home / "unbroken")[:5])
    assert done.stdout == f"{home / 'killed' / 'model'}: a backbone for --backbone\n"
    assert "a real error" in done.stderr and "untested" not in done.stderr


def test_micro_batches_add_up_to_the_whole_batch(home: Path) -> None:
    run(words(home, "parts", "--dropout", "0", "--micro-tokens", "60", steps=3))
    run(words(home, "whole", "--dropout", "0", "--micro-tokens", "4096", steps=3))
    assert losses(home / "parts") == pytest.approx(losses(home / "whole"), abs=2e-5)


def test_a_stopped_run_writes_the_log_of_an_unbroken_one(tmp_path: Path) -> None:
    """A line is the mean of all steps since the line before, also of those before the stop."""
    corpus(tmp_path / "held", seed=1)
    more = ["--log-steps", "4", "--held-out", str(tmp_path / "held"), "--evaluate-steps", "6"]
    more += ["--micro-tokens", "4096", "--checkpoint-steps", "7", "--keep-checkpoints", "9"]
    run(words(tmp_path, "unbroken", *more, steps=14))
    asked = words(tmp_path, "broken", *more, steps=14)
    assert stopped_at(asked, 4, signal.SIGINT) == 130
    assert stopped_at(asked, 8) == -signal.SIGKILL
    run(asked)
    assert learned(tmp_path / "broken") == learned(tmp_path / "unbroken")
    assert len(losses(tmp_path / "unbroken")) == 4
    saved = sorted(path.name for path in (tmp_path / "broken" / "checkpoints").glob("step-*"))
    assert saved == [f"step-{step:08}" for step in (5, 7, 14)]


def test_sigterm_leaves_a_checkpoint_and_the_command_goes_on(home: Path) -> None:
    asked = words(home, "stopped", "--checkpoint-steps", "1000", steps=16)
    assert stopped_at(asked, 5, signal.SIGTERM, OMP_NUM_THREADS="1") == 143
    (saved,) = (home / "stopped" / "checkpoints").iterdir()
    assert saved.name == "step-00000006", "the step that was being computed is finished"
    run([*asked, "--resume"], OMP_NUM_THREADS="1")
    assert losses(home / "stopped") == losses(home / "unbroken")
    run(asked)  # finished: nothing is left to do
    assert len(losses(home / "stopped")) == 16


def test_what_cannot_go_on_says_why_and_loses_nothing(tmp_path: Path) -> None:
    asked = words(tmp_path, "out", "--export-at", "2", steps=4)
    assert "no checkpoint to continue from" in refusal([*asked, "--resume"])
    assert "learnt nothing beyond frequencies" in run(asked)
    assert (tmp_path / "out" / "exports" / "step-2" / "config.json").is_file()
    assert "| loss of guessing tokens by frequency | " in model_card(tmp_path / "out")
    other = [*words(tmp_path, "out", steps=4), "--lr", "2e-3"]
    assert "lr 0.001, now 0.002" in refusal(other)
    (tmp_path / "out" / "finished.json").unlink()
    assert "lr 0.001, now 0.002" in run(other, code=2)
    corpus(tmp_path / "corpus", seed=1)
    assert "The corpus has changed" in refusal(words(tmp_path, "out", steps=4))
    assert len(losses(tmp_path / "out")) == 4


def test_a_gpt_like_model_reads_bare_text_and_fine_tunes(tmp_path: Path) -> None:
    from benchrunner import Workspace
    from benchrunner.results import discover
    from benchrunner.workspace import Settings
    from benchrunner_kit.testing import check_backbone

    run(words(tmp_path, "out", steps=2, size="gpt-1/32/2"))
    assert "Its training text had no special tokens" in model_card(tmp_path / "out")
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", settings=Settings(offline=True))
    backbone, family = discover().backbone_search.find("pretrained/out", workspace)
    assert backbone.about.startswith("pre-trained here: a GPT-like model of 1 layers, 32 wide, ltr, 2 steps")
    check_backbone(backbone, family, workspace, tmp_path / "again")


@pytest.mark.slow
@pytest.mark.parametrize(("precision", "near"), [("fp32", 2e-5), ("bf16", 2e-2)])
def test_every_stage_of_two_processes_goes_on_at_another_stage(tmp_path: Path, precision: str, near: float) -> None:
    """Without dropout, whose masks are each process's own. Sums over two processes are added up in another order."""
    corpus(tmp_path / "corpus", documents=40)
    common = ["--dropout", "0", "--precision", precision, "--checkpoint-steps", "5"]
    run(words(tmp_path, "one", *common, steps=30))
    for stage, later in ((0, 3), (1, 0), (2, 1), (3, 2)):
        begun = words(tmp_path, f"two-{stage}", *common, "--zero", str(stage), "--processes", "2", steps=30)
        killed_at(begun, tmp_path / f"two-{stage}", 12, signal.SIGINT)
        run(words(tmp_path, f"two-{stage}", *common, "--zero", str(later), steps=30))
        assert losses(tmp_path / f"two-{stage}") == pytest.approx(losses(tmp_path / "one"), abs=near)


TRAPEZOID = ["--schedule", "trapezoid", "--cooldown", "4", "--checkpoint-steps", "3", "--long-share", "0"]


def test_a_run_that_is_cut_short_is_the_short_run(tmp_path: Path) -> None:
    """From a checkpoint that the short run would have; after a later one, its steps would have been others."""
    run(words(tmp_path, "short", *TRAPEZOID, steps=8))
    stopped_at(words(tmp_path, "cut", *TRAPEZOID, steps=20), 7)
    cut = words(tmp_path, "cut", *TRAPEZOID, steps=8)
    error = run(cut, code=2)
    assert "belongs to another request" in error and "steps 20, now 8" in error
    shutil.rmtree(tmp_path / "cut" / "checkpoints" / "step-00000006")
    run(cut)
    assert weights(tmp_path / "cut") == weights(tmp_path / "short")
