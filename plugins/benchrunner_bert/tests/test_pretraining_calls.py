"""The loop of pre-training calls each of its parts as often as its plan says, by hand."""

from __future__ import annotations

import json
from pathlib import Path

from pretraining_runs import COMMAND, environment, words

import forked

COUNTING = f"""
import collections, json, sys
from benchrunner_bert.pretraining.instances.instances import Instances
from benchrunner_bert.pretraining.training import loop
calls = collections.Counter()

def count(owner, name):
    plain = getattr(owner, name)
    def counted(*arguments, **options):
        calls[name] += 1
        calls[name + " last"] += options.get("last", False)
        return plain(*arguments, **options)
    setattr(owner, name, counted)

for name in ("__call__", "backward", "step"):
    count(loop.Engine, name)
for owner, name in (
    (loop.Feed, "of_step"), (Instances, "make"), (loop.Packed, "on"), (loop.LogWindow, "add"),
    (loop.LogWindow, "figures"), (loop.step_log, "append"), (loop, "summed"), (loop.Checkpoints, "save"),
    (loop.Checkpoints, "sweep"), (loop.TrainingLoop, "_export"),
):
    count(owner, name)
out = sys.argv[1]
try:
    exec({COMMAND!r})
finally:
    open(out, "w").write(json.dumps(calls))
"""


def test_the_loop_calls_its_parts_as_its_plan_says(tmp_path: Path) -> None:
    """Of 8 steps, 6 have two micro-batches of short sequences and 2 have four of long ones; there are 3 evaluations."""
    plan = ["--log-steps", "3", "--evaluate-steps", "3", "--checkpoint-steps", "4", "--export-at", "2"]
    held_out = ["--held-out", str(tmp_path / "corpus")]  # of 8 sequences
    asked = words(tmp_path, "out", *plan, *held_out, steps=8)
    assert forked.Process(["-c", COUNTING, str(tmp_path / "calls"), *asked[1:]], env=environment()).wait() == 0
    calls = json.loads((tmp_path / "calls").read_text())
    for once_a_step in ("of_step", "add", "step", "backward last"):
        assert calls[once_a_step] == 8, once_a_step
    trained, evaluated = 6 * 2 + 2 * 4, 2 * 2 + 4
    assert calls["backward"] == trained
    assert calls["__call__"] == calls["on"] == trained + evaluated
    assert calls["make"] == 8 * 8 + 3 * 8
    assert (calls["figures"], calls["summed"], calls["append"]) == (3, 3, 6)
    assert (calls["save"], calls["sweep"], calls["_export"]) == (2, 1, 2)
