"""One BERT checkpoint that both plugins read: the losses of 20 training steps without dropout are equal."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import benchrunner_transformers
from benchrunner import ACCURACY, Classify, Recipe, RowsFrom, Split, Task, Workspace
from benchrunner.results import Computing, Runner, discover
from benchrunner.training import loop
from inline import plugin

bert = pytest.importorskip("benchrunner_bert")

STEPS = 20
WORDS = ["the", "old", "man", "sat", "by", "a", "river", "and", "watched", "boats", "go", "down", "to", "sea"]


def texts(seed: int) -> list[str]:
    """Make 32 texts of 1 to 30 words."""
    source = np.random.default_rng(seed)
    return [" ".join(source.choice(WORDS, size)) for size in source.integers(1, 31, 32)]


def pairs(workspace: Workspace) -> dict[str, list[str]]:
    return {"a": texts(1), "b": texts(2), "label": ["yes" if "sea" in text else "no" for text in texts(2)]}


RECIPE = Recipe(lr=1e-3, epochs=STEPS // 2, batch_size=16, dropout=0.0, max_length=48)
TASK = Task(
    "tiny/pairs",
    "Is the sea in the second text?",
    Classify(("no", "yes")),
    {role: Split(role, (RowsFrom(pairs),)) for role in ("train", "dev")},
    (ACCURACY,),
    recipe=RECIPE,
)


def test_both_plugins_compute_the_same_losses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "LOG_STEPS", 1)
    offers = [("bert", bert), ("transformers", benchrunner_transformers), ("tasks", plugin(register_tasks=[TASK]))]
    plugins = discover(extra=offers, installed=False)
    runner = Runner(plugins, Workspace(tmp_path / "runs", tmp_path / "cache"), Computing("cpu"))
    checkpoint, losses = Path(str(bert.__file__)).with_name("novels"), []
    for backbone in (str(checkpoint), f"transformers:{checkpoint}"):
        fit = runner.planner.plan(TASK, backbone)
        assert runner.run(fit).status == "done"
        lines = runner.folder(fit).path.joinpath("log.jsonl").read_text(encoding="utf-8").splitlines()
        losses.append([json.loads(line)["loss"] for line in lines])
    own, other = losses
    assert len(own) == STEPS and own[-1] < own[0] / 2, "the losses of a model that learns nothing would agree anyway"
    np.testing.assert_allclose(own, other, atol=1e-4, rtol=0)
