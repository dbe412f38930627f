"""Pre-trainings of a second or two, started as a user starts them."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import random
import shutil
import signal
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import forked
from benchrunner.command_line.main import main
from benchrunner_bert.pretraining.deepspeed.processes import free_port

if find_spec("deepspeed") is None:  # not imported to find out whether it is there, which would take two seconds
    pytest.skip("pre-training needs the extra 'pretrain'", allow_module_level=True)

QUICK = ["--vocab-size", "300", "--batch-size", "8", "--length", "24", "--long-length", "48", "--long-share", "0.25"]
QUICK += ["--warmup", "3", "--lr", "1e-3", "--log-steps", "1", "--micro-tokens", "100", "--held-out-instances", "8"]

ZERO = ("deepspeed.runtime.zero.muon.muon_optimizer",)
"""What DeepSpeed imports at the ZeRO stages 1 to 3: two seconds of CPU time."""


def corpus(folder: Path, *, documents: int = 12, seed: int = 0) -> Path:
    """Made-up novels: sentences of common words, paragraphs a line, documents apart."""
    draw = random.Random(seed)
    words = ["the", "a", "old", "man", "woman", "horse", "river", "house", "saw", "loved", "met", "stood", "ran", "in"]
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for _ in range(documents):
        for _ in range(4):
            sentences = [" ".join(draw.choices(words, k=draw.randint(4, 12))) for _ in range(5)]
            lines.append(" ".join(f"{one.capitalize()}." for one in sentences))
        lines.append("")
    (folder / "novels.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


def words(folder: Path, out: str, *more: str, steps: int = 8, size: str = "1/32/2") -> list[str]:
    """Give the words of a command; its corpus is written unless there is one."""
    if not (folder / "corpus").exists():
        corpus(folder / "corpus")
    asked = ["pretrain", size, "--corpus", str(folder / "corpus"), "--out", str(folder / out), "--steps", str(steps)]
    asked += ["--runs", str(folder / "runs")]
    return [sys.executable, "-m", "benchrunner", *asked, *QUICK, *more]


def environment(**changed: str) -> dict[str, str]:
    """Return this process's variables, OMP_NUM_THREADS among them: other threads may give other bits."""
    kept = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    return {**kept, "HF_HUB_OFFLINE": "1", **changed}


COMMAND = """
import runpy, sys
from benchrunner_bert.pretraining.training import log_window
log_window.measured_peak = lambda device, kind: 1e12
sys.argv = sys.argv[sys.argv.index("benchrunner"):]
runpy.run_module("benchrunner", run_name="__main__", alter_sys=True)
"""
"""Runs the command of its arguments, without measuring the speed of the machine, a share of which stands in a log."""


def run(asked: list[str], *, code: int = 0, **environ: str) -> str:
    """Run a command to its end in a process of its own; return its standard error."""
    arguments = ["-c", COMMAND, *asked[1:]]
    done = forked.run(arguments, env=environment(**environ), imports=ZERO if "--zero" in asked else ())
    assert done.returncode == code, done.stderr[-3000:]
    return done.stderr


def losses(folder: Path) -> list[float]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if "loss" in line]


def weights(folder: Path) -> bytes:
    """Read the weights that a run left."""
    return (folder / "model" / "model.safetensors").read_bytes()


def model_card(folder: Path) -> str:
    return (folder / "model" / "README.md").read_text(encoding="utf-8")


RATES = ("sequences_per_second", "tokens_per_second", "flops_per_second", "utilisation", "seconds_left")
"""Figures of the log that depend on the machine's speed."""


def learned(folder: Path) -> list[dict[str, Any]]:
    """The lines of the log without their rates."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    for line, name in itertools.product(lines, RATES):
        line.pop(name, None)
    return lines


STOPPING = f"""
import os, sys
from benchrunner.training import step_log
append, last, number = step_log.append, *map(int, sys.argv[1:3])
def append_and_stop(path, step, figures):
    append(path, step, figures)
    if step == last:
        os.kill(os.getpid(), number)
step_log.append = append_and_stop
{COMMAND}
"""


def stopped_at(asked: list[str], step: int, number: int = signal.SIGKILL, **environ: str) -> int:
    """Run a command that gets a signal when it has logged a step; return the exit code.

    The process sends itself the signal: a test that watches the log is late on a busy machine.
    """
    arguments = ["-c", STOPPING, str(step), str(number), *asked[1:]]
    return forked.Process(arguments, env=environment(**environ), imports=ZERO if "--zero" in asked else ()).wait()


def gone_on_from(finished: Path, step: int, folder: Path) -> None:
    """Copy a finished run that kept its checkpoints as if its process had ended after that of a step."""
    shutil.copytree(finished, folder)
    (folder / "finished.json").unlink()
    for saved in (folder / "checkpoints").iterdir():
        if saved.name > f"step-{step:08}":
            shutil.rmtree(saved)


def killed_at(asked: list[str], folder: Path, step: int, number: int = signal.SIGKILL) -> int:
    """Start a command of several processes, send a signal when the log has a step, and return the exit code."""
    process = forked.Process(asked[1:], env=environment())
    log = folder / "log.jsonl"
    while process.poll() is None:
        if log.exists() and any(f'"step": {step},' in line for line in log.read_text().splitlines()):
            process.send_signal(number)
            break
        time.sleep(0.01)
    return process.wait()


def samples(folder: Path, *names: str, processes: int = 1) -> Path:
    """Let so many processes write the samples of `zero_samples.py` that are named."""
    common = {**environment(), "WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1"}
    common |= {"MASTER_PORT": str(free_port()), "DS_ACCELERATOR": "cpu"}
    program = [str(Path(__file__).with_name("zero_samples.py")), str(folder), *names]
    imports = [*ZERO, "transformers.models.bert.modeling_bert", "pytest"]
    ranks = [
        forked.Process(program, env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)}, imports=imports)
        for rank in range(processes)
    ]
    end = time.monotonic() + 300
    try:
        # A process waits for ever for another one that has failed.
        while time.monotonic() < end and None in (codes := [process.poll() for process in ranks]) and not any(codes):
            time.sleep(0.05)
    finally:
        for process in ranks:
            process.kill()
    outputs = [process.communicate() for process in ranks]
    assert codes == [0] * processes, "\n".join(errors[-3000:] for _, errors in outputs)
    return folder


def refusal(asked: list[str], code: int = 2) -> str:
    """Run a command in this process, which it ends before a step is taken; return its standard error."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            ended = main(asked[asked.index("pretrain") :])
        except SystemExit as end:  # by argparse
            ended = int(end.code or 0)
    assert ended == code and "Traceback" not in said.getvalue()
    return said.getvalue()
