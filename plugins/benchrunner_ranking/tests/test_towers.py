"""Fits of two towers: from files to scores, in parts of a batch, on the command line, and without training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

import benchrunner_ranking
from benchrunner import RequestError, Task, Workspace, hookimpl
from benchrunner.results import Computing, Plugins, Runner, discover, predict
from benchrunner.workspace import Settings
from benchrunner_kit.testing import MOOD, check_method, tiny_family
from benchrunner_ranking import WIKIQA, Retrieve
from benchrunner_ranking.towers import FrozenTowers, TwoTower


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    backbones = SimpleNamespace(register_backbones=hookimpl(lambda: [tiny_family()]))
    return discover(extra=[("tiny", backbones), ("ranking", benchrunner_ranking)], installed=False)


@pytest.fixture
def runner(tmp_path: Path, plugins: Plugins) -> Runner:
    for task in (plugins.tasks.find("beir/nfcorpus"), WIKIQA):
        task.demo_files(tmp_path / "data")  # type: ignore[misc]
    workspace = Workspace(
        runs=tmp_path / "runs",
        cache=tmp_path / "cache",
        data=tmp_path / "data",
        settings=Settings(official_counts=False),
    )
    return Runner(plugins, workspace, Computing("cpu"))


@pytest.fixture
def corpus_task(plugins: Plugins) -> Task:
    return plugins.tasks.find("beir/nfcorpus")


def fit(runner: Runner, task: Task, method: str = "", **changes: Any) -> Any:
    recipe = task.recipe.changed(dropout=0.0, max_length=32, **changes)
    planned = runner.planner.plan(task, "tiny/words", method=method or task.method, recipe=recipe)
    assert runner.run(planned).status == "done"
    return planned


def test_the_demo_is_learned_and_answers_are_searched(runner: Runner, corpus_task: Task) -> None:
    frozen = predict(fit(runner, corpus_task, "frozen-towers"), "dev", runner).record
    trained = predict(fit(runner, corpus_task, epochs=6, lr=0.02), "dev", runner)
    scores = [record.scores["ndcg@10"].value for record in (frozen, trained.record)]
    assert scores[0] is not None and scores[1] is not None
    assert scores[0] < 0.3 and scores[1] > 0.6
    assert [len(answer) for answer in trained.answers] == [100] * 80


@pytest.mark.parametrize("micro_tokens", [16, 100])
def test_parts_of_a_batch_give_the_weights_of_the_batch(runner: Runner, corpus_task: Task, micro_tokens: int) -> None:
    """Adam scales rounding errors of tiny gradients up, so that weights are not equal to the last bit."""
    weights = []
    for budget in (4096, micro_tokens):
        fitted = fit(runner, corpus_task, epochs=1, lr=0.01, limit_train=40, micro_tokens=budget)
        runner.run(fitted, weights=True)
        weights.append(load_file(next(runner.folder(fitted).model.glob("*.safetensors"))))
    whole, parts = weights
    assert max((whole[name] - parts[name]).abs().max().item() for name in whole) < 5e-4


def test_a_limit_keeps_whole_queries(runner: Runner) -> None:
    rows = runner.planner.plan(WIKIQA, "tiny/words", recipe=WIKIQA.recipe.changed(limit_train=7))
    assert rows.recipe.limit_train == 7
    whole = runner.planner.rows(WIKIQA, "train").table
    groups = whole.slice(0, 7).column("choices").to_pylist()
    assert len(groups) == 7 and all(len(group) > 2 for group in groups)


def test_a_random_order_is_the_baseline_of_candidates(runner: Runner) -> None:
    planned = runner.planner.plan(WIKIQA, "", method="majority", recipe=WIKIQA.recipe)
    scores = predict(planned, "dev", runner).record.scores
    table = runner.planner.rows(WIKIQA, "dev").table
    expected = []
    for candidates in table.column("choices").to_pylist():  # one of them is right
        expected.append(np.mean([1 / rank for rank in range(1, len(candidates) + 1)]))
    assert scores["mrr"].value == pytest.approx(np.mean(expected))
    assert scores["map"].value == pytest.approx(np.mean(expected))


def test_candidates_are_learned(runner: Runner) -> None:
    scores = predict(fit(runner, WIKIQA, epochs=3, lr=0.02), "dev", runner).record.scores
    assert scores["map"].value is not None and scores["map"].value > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("method", [TwoTower(), FrozenTowers()])
def test_towers_keep_their_contract(corpus_task: Task, method: Any, tmp_path: Path) -> None:
    corpus_task.demo_files(tmp_path / "data")  # type: ignore[misc]
    rows = corpus_task.load("train", Workspace.of_demo(tmp_path)).table.slice(0, 8)
    assert isinstance(corpus_task.problem, Retrieve)
    problem = replace(corpus_task.problem, depth=1)  # rounding may change the order of passages further down
    check_method(method, tmp_path, problem=problem, columns=rows.to_pydict())


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_a_head_on_top_of_a_tower_is_refused(runner: Runner, corpus_task: Task) -> None:
    planned = runner.planner.plan(corpus_task, "tiny/words", method="finetune", recipe=corpus_task.recipe)
    record = runner.run(planned)
    assert record.status == "failed"
    assert "this method gives none: choose --method two-tower or frozen-towers" in record.reason


@pytest.mark.parametrize("method", [TwoTower(), FrozenTowers()])
def test_towers_refuse_other_problems(method: Any) -> None:
    with pytest.raises(RequestError, match="learns retrieval from a corpus, not problems of the kind 'classify'"):
        method.check(MOOD)
