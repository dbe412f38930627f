"""The nine tasks: metrics, averages, and the same rows in files and on the hub."""

from __future__ import annotations

from pathlib import Path

import pytest
from glue_on_hub import build

from benchrunner import Average, Classify, Task, Term, TextTable, Workspace
from benchrunner_glue import GLUE
from benchrunner_glue.table import GLUE_SCORE, PAPER_AVERAGE, tasks
from benchrunner_tasks import HubTable
from hub_tables import answer_from

TASKS = {task.name.removeprefix("glue/"): task for task in tasks()}


@pytest.mark.parametrize("name", ["mrpc", "qqp"])
def test_f1_is_of_the_second_label_as_officially(name: str) -> None:
    problem = TASKS[name].problem
    assert isinstance(problem, Classify)
    no, yes = problem.labels
    assert TASKS[name].metrics[0].compute([yes, no, no], [yes, yes, no]) == pytest.approx(2 / 3)


def test_files_are_read_before_the_hub_and_test_labels_never() -> None:
    for task in TASKS.values():
        for split in task.splits.values():
            file, hub = split.sources
            assert isinstance(file, TextTable)
            assert isinstance(hub, HubTable)
            assert set(file.columns) == set(hub.columns)
            assert ("label" in file.columns) == (split.role != "test")


def cells(average: Average, row: str) -> dict[Term, float]:
    """Assign published figures to the terms of an average, in their order."""
    terms = [term for group in average.terms for term in group]
    return dict(zip(terms, map(float, row.replace("/", " ").split()), strict=True))


@pytest.mark.parametrize(
    ("row", "average"),
    [
        ("80.6/80.1 66.1 82.3 93.2 35.0 81.0 86.0 61.7", 74.0),  # before GPT
        ("76.4/76.1 64.8 79.9 90.4 36.0 73.3 84.9 56.8", 71.0),  # ELMo, first version: QNLI 79.9
        ("82.1/81.4 70.3 87.4 91.3 45.4 80.0 82.3 56.0", 75.1),  # GPT
        ("84.6/83.4 71.2 90.5 93.5 52.1 85.8 88.9 66.4", 79.6),  # BERT-BASE
        ("86.7/85.9 72.1 92.7 94.9 60.5 86.5 89.3 70.1", 82.1),  # BERT-LARGE
    ],
)
def test_the_paper_average_equals_table_1(row: str, average: float) -> None:
    mean = PAPER_AVERAGE.of(cells(PAPER_AVERAGE, row))
    assert mean is not None
    assert round(mean, 1) == average


def test_the_glue_score_is_the_leaderboards() -> None:
    large = "60.5  94.9  89.3/85.4  86.5/87.6  72.1/89.3  86.7/85.9  92.7  70.1  65.1"
    mean = GLUE_SCORE.of(cells(GLUE_SCORE, large))
    assert mean is not None
    assert round(mean, 1) == 80.5


def test_every_term_of_an_average_is_a_metric_of_its_task() -> None:
    tasks: dict[str, Task] = {task.name: task for task in TASKS.values()}
    for average in GLUE.averages:
        for term in (term for group in average.terms for term in group):
            assert term.split in tasks[term.task].splits
            assert term.metric in [metric.name for metric in tasks[term.task].metrics]


def test_every_split_has_the_same_rows_on_the_hub(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(demo, tmp_path / "nyu-mll" / "glue")
    answer_from(tmp_path, monkeypatch)
    here, hub = (Workspace(runs=tmp_path, cache=tmp_path, data=data) for data in (demo, None))
    for task in TASKS.values():
        for split in task.splits:
            local, remote = task.load(split, here), task.load(split, hub)
            assert str(demo) in local.origin and remote.origin.startswith("hub nyu-mll/glue")
            assert local.table.equals(remote.table) and local.fingerprint == remote.fingerprint, (task.name, split)
            assert len(local) >= 100
