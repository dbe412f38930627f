"""The method `setfit`: pairs of rows, a head on what they teach, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchrunner import FitError, RequestError
from benchrunner.engine import Features, Job, Sequences, collate
from benchrunner.results import Computing, Fit, Runner, predict
from benchrunner_kit.testing import TinyEncoder
from benchrunner_methods.contrast import drawn_pairs, paired, similarities
from inline import runner
from kinds_of_tasks import task_of_kind


def planned(made: Runner, *, seed: int = 0, **changes: Any) -> Fit:
    method, task = made.plugins.methods.find("setfit"), made.plugins.tasks.find("mood")
    recipe = task.recipe.changed(**{**method.recipe_defaults, "limit_train": None, "lr": 1e-3, **changes})
    return made.planner.plan(task, "words", method="setfit", recipe=recipe, seed=seed)


def test_a_row_has_partners_of_its_label_and_of_others() -> None:
    labels = np.array([0, 1, 1, 2, 0, 1])
    rows, targets = drawn_pairs(labels, 3, seed=0)
    pairs = rows.reshape(-1, 2)
    assert not (pairs[:, 0] == pairs[:, 1]).any(), "no row is its own partner"
    assert np.array_equal(labels[pairs[:, 0]] == labels[pairs[:, 1]], targets == 1)
    assert np.bincount(pairs[targets == 1, 0], minlength=6).tolist() == [3, 3, 3, 0, 3, 3], "row 3 is alone"
    assert np.bincount(pairs[targets == 0, 0]).tolist() == [3] * 6
    assert np.array_equal(rows, drawn_pairs(labels, 3, seed=0)[0])
    assert not np.array_equal(rows, drawn_pairs(labels, 3, seed=1)[0])


def test_rows_of_one_label_have_no_other_partners() -> None:
    assert drawn_pairs(np.array([0, 0, 0]), 2, seed=0)[1].tolist() == [1.0] * 6
    with pytest.raises(FitError, match="there is one only"):
        drawn_pairs(np.array([0]), 4, seed=0)


def test_a_unit_has_the_cosine_of_its_two_rows(tmp_path: Path) -> None:
    lengths = np.array([3, 1, 5, 2])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.arange(1, 12, dtype=np.int32)
    features = Features.of(Sequences(tokens, np.zeros(11, np.int8), starts), targets={"label": np.array([0, 1, 0, 1])})
    pairs, encoder = paired(features, 1, seed=0), TinyEncoder().eval()
    made = runner(tmp_path)
    job = Job(planned(made), None, None, None, Computing("cpu"), *[tmp_path] * 3, report=print)  # type: ignore[arg-type]
    batch = collate(pairs, np.arange(pairs.units), torch.device("cpu"))
    means = []
    for row in range(4):
        states = encoder(collate(features, np.array([row]), torch.device("cpu")))
        means.append(states.mean(0))
    expected = [torch.cosine_similarity(means[a], means[b], dim=0) for a, b in pairs.owner.reshape(-1, 2)]
    torch.testing.assert_close(similarities(encoder, job, batch)[:, 0], torch.stack(expected))


def test_few_rows_teach_the_encoder(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fit = planned(made)
    record = made.run(fit)
    assert record.status == "done", record.reason
    assert record.notes[-1].startswith(
        "learns from 1,920 pairs of rows; reads the mean over tokens, and cross-validation"
    )
    assert record.numerics["versions"]["scikit-learn"]
    answers = predict(fit, "dev", made).answers
    gold = made.planner.rows(made.plugins.tasks.find("mood"), "dev").table.column("label").to_pylist()
    assert np.mean([answer == right for answer, right in zip(answers, gold, strict=True)]) > 0.75, answers
    onward = made.planner.plan(made.plugins.tasks.find("mood"), f"run:{fit.id}", recipe=fit.recipe)
    assert made.run(onward).status == "done"


@pytest.mark.parametrize("kind", ["regress", "tag", "choose", "span", "labels"])
def test_other_kinds_are_refused(kind: str, tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[task_of_kind(kind)])
    with pytest.raises(RequestError, match="'setfit' compares rows by their labels"):
        made.planner.plan(made.plugins.tasks.find(kind), "words", method="setfit")
