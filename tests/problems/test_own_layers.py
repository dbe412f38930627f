"""Weights that a problem owns: the ordinal kind of question of docs/plugins/problems.md."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from benchrunner import ACCURACY, RequestError, RowsFrom, Split, Task
from benchrunner.engine import collate
from benchrunner.results import Fit, Runner
from benchrunner.runs.predicting import predict
from benchrunner_kit.testing import TinyEncoder
from benchrunner_runs.exporting import export
from distributions import ROOT
from documents import blocks
from inline import QUICK, runner
from killed_fits import stopped_after
from tiny_fits import CPU

LEVELS = ("bad", "fair", "good")
WORDS = {"bad": "rainy", "fair": "plain", "good": "sunny"}
RECIPE = QUICK.changed(epochs=8, features="last")
THRESHOLDS = {"problem.first", "problem.steps"}


@pytest.fixture(scope="module")
def page() -> Any:
    module = ModuleType("page_problems")
    sys.modules[module.__name__] = module
    for code in blocks("python", ROOT / "docs" / "plugins" / "problems.md"):
        exec(compile(code, "docs/plugins/problems.md", "exec", dont_inherit=True), module.__dict__)
        if "Ordinal" in module.__dict__:
            break
    yield module
    del sys.modules[module.__name__]


def reviews(page: Any) -> Task:
    def split(role: Any, count: int) -> Split:
        def columns(workspace: Any) -> dict[str, list[Any]]:
            levels = random.Random(role).choices(LEVELS, k=count)
            return {"a": [f"a {WORDS[level]} day" for level in levels], "level": list(levels)}

        return Split(role, (RowsFrom(columns),))

    splits = {"train": split("train", 96), "dev": split("dev", 24)}
    return Task("mine/reviews", "How good is it?", page.Ordinal(LEVELS), splits, (ACCURACY,), RECIPE)


def fitted(folder: Path, page: Any, method: str = "finetune", **changes: Any) -> tuple[Runner, Fit]:
    made = runner(folder, register_tasks=[reviews(page)])
    task = made.plugins.tasks.find("reviews")
    fit = made.planner.plan(task, "words", recipe=RECIPE.changed(**changes), method=method)
    record = made.run(fit)
    assert record.status == "done", record.reason
    return made, fit


def learned(made: Runner, fit: Fit) -> dict[str, torch.Tensor]:
    return load_file(made.folder(fit).model / "head.safetensors")


@pytest.fixture(scope="module")
def finetuned(page: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Runner, Fit]:
    """A fit that no test may change."""
    return fitted(tmp_path_factory.mktemp("finetuned"), page)


@pytest.mark.parametrize("method", ["finetune", "lora", "features"])
def test_thresholds_are_learned_kept_and_read(
    page: Any, method: str, finetuned: tuple[Runner, Fit], tmp_path: Path
) -> None:
    made, fit = finetuned if method == "finetune" else fitted(tmp_path, page, method)
    weights = learned(made, fit)
    fresh = page.Thresholds(2)
    assert weights.keys() >= THRESHOLDS
    assert all(not torch.equal(weights[f"problem.{name}"], value) for name, value in fresh.state_dict().items())
    record = predict(fit, "dev", made).record
    assert record.scores["accuracy"].value is not None and record.scores["accuracy"].value > 0.9


def test_answers_are_those_of_the_learned_thresholds(finetuned: tuple[Runner, Fit]) -> None:
    made, fit = finetuned
    weights = learned(made, fit)
    encoder = TinyEncoder.read(made.folder(fit).model).eval()
    task = made.plugins.tasks.find("reviews")
    data = task.problem.encode(task.load("dev", made.workspace).table, encoder, RECIPE, training=False)
    batch = collate(data, np.arange(24), CPU)
    scores = encoder.summarized(batch) @ weights["output.weight"].T + weights["output.bias"]
    first = weights["problem.first"]
    second = first + torch.log1p(weights["problem.steps"].exp())
    passed = (scores > torch.cat([first, second])).sum(1).index_select(0, batch.restore)
    assert predict(fit, "dev", made).answers == [LEVELS[place] for place in passed.tolist()]


def test_a_killed_fit_goes_on_exactly_with_its_thresholds(
    page: Any, finetuned: tuple[Runner, Fit], tmp_path: Path
) -> None:
    made, fit = finetuned
    killed = stopped_after(9, fit, runner(tmp_path / "killed", register_tasks=[reviews(page)]))
    (state,) = killed.folder(fit).checkpoint.iterdir()
    assert load_file(state).keys() >= {f"weight/{name}" for name in THRESHOLDS}
    assert killed.run(fit).status == "done"
    expected = learned(made, fit)
    found = learned(killed, fit)
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], weight) for name, weight in expected.items())


def test_thresholds_go_on_with_the_head(finetuned: tuple[Runner, Fit]) -> None:
    made, fit = finetuned
    task = made.plugins.tasks.find("reviews")
    again = made.planner.plan(task, f"run:{fit.id}", recipe=RECIPE.changed(lr=1e-9, epochs=1))
    assert made.run(again).status == "done"
    for name in THRESHOLDS:
        torch.testing.assert_close(learned(made, again)[name], learned(made, fit)[name])


def test_weights_that_others_do_not_know_are_refused(
    page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, fit = fitted(tmp_path, page, epochs=1)
    with pytest.raises(RequestError, match=r"cannot be exported: .*'ordinal' \(it has weights of its own"):
        export(fit.id, tmp_path / "out", made)
    monkeypatch.setattr(type(made.plugins.methods.find("finetune")), "trains_in_steps", False)
    with pytest.raises(RequestError, match="'finetune' cannot train the weights that the kind 'ordinal' owns"):
        made.planner.plan(made.plugins.tasks.find("reviews"), "words")
    majority = made.planner.plan(made.plugins.tasks.find("reviews"), "", method="majority")
    assert made.run(majority).status == "done" and len(predict(majority, "dev", made).answers) == 24
