"""The task: its recipe, its demo data, and that it can be learned, scored and submitted."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from benchrunner import Workspace
from benchrunner.results import Computing, Plugins, Runner, compared, discover, predict, run_study
from benchrunner.studies.cells import Fitting
from benchrunner.tasks.row_sample import sample
from benchrunner.workspace import Settings
from benchrunner_kit.testing import check_task, tiny_family
from benchrunner_submit.submission_files import writing
from benchrunner_submit.submission_files.checking import findings
from benchrunner_submit.submission_files.manifests import read_manifest
from benchrunner_submit.submissions.submission_answers import answers, selected
from benchrunner_swag import SWAG


def test_the_task_keeps_its_contract(tmp_path: Path) -> None:
    check_task(SWAG, tmp_path)


# --- demo data


def write(folder: Path) -> Path:
    assert SWAG.demo_files is not None
    SWAG.demo_files(folder)
    return folder


def test_words_alone_tell_the_ending(tmp_path: Path) -> None:
    workspace = Workspace(runs=tmp_path, cache=tmp_path, data=write(tmp_path))
    train, dev = (SWAG.load(split, workspace).table.to_pylist() for split in ("train", "dev"))
    right, wrong = Counter[str](), Counter[str]()
    for row in train:
        for number, text in enumerate(row["choices"]):
            (right if number == row["label"] else wrong).update(re.findall(r"\w+", text))

    def likely(text: str) -> float:
        return sum(right[word] / (right[word] + wrong[word] / 3 + 1) for word in re.findall(r"\w+", text)) / len(text)

    hits = [max(range(4), key=lambda number: likely(row["choices"][number])) == row["label"] for row in dev]
    assert sum(hits) / len(hits) > 0.9
    assert max(Counter(row["label"] for row in dev).values()) < 0.4 * len(dev)


# --- from training to a submission


@pytest.fixture
def plugins() -> Plugins:
    from types import SimpleNamespace

    from benchrunner import hookimpl

    backbones = SimpleNamespace(register_backbones=hookimpl(lambda: [tiny_family()]))
    swag = SimpleNamespace(register_tasks=hookimpl(lambda: [SWAG]))
    board = pytest.importorskip("benchrunner_leaderboards")
    return discover(extra=[("tiny", backbones), ("swag", swag), ("boards", board)], installed=False)


def test_64_rows_are_memorized(tmp_path: Path, plugins: Plugins) -> None:
    workspace = Workspace(
        runs=tmp_path / "runs",
        cache=tmp_path / "cache",
        data=write(tmp_path / "data"),
        settings=Settings(official_counts=False),
    )
    runner = Runner(plugins, workspace, Computing("cpu"))
    recipe = SWAG.recipe.changed(limit_train=64, epochs=40, lr=0.05, dropout=0.0)
    fit = runner.planner.plan(SWAG, "tiny/words", recipe=recipe)
    assert runner.run(fit).status == "done"
    answers = predict(fit, "train", runner).answers
    labels = runner.planner.rows(SWAG, "train").table.column("label").to_pylist()
    drawn = sample(labels, 64, seed=fit.seed)
    assert [answers[row] for row in drawn] == [labels[row] for row in drawn]


def test_a_demo_submission_fails_only_the_official_row_counts(tmp_path: Path, plugins: Plugins) -> None:
    workspace = Workspace(
        runs=tmp_path / "runs",
        cache=tmp_path / "cache",
        data=write(tmp_path / "data"),
        settings=Settings(official_counts=False),
    )
    runner, board = Runner(plugins, workspace, Computing(device="cpu")), plugins.leaderboards.find("swag")
    study = compared(("tiny/words",), (SWAG,), Fitting(changes={"epochs": 1}))
    given = answers(board, selected(board, run_study(study, runner).cells, runner), {}, runner)
    path = writing.write_answers(board, given, tmp_path, counts={file.name: 60 for file in board.files})
    assert findings(board, path, manifest=read_manifest(path)).faults == []
    assert "predictions.csv: 60 answers, expected 20,005." in findings(board, path).faults
    predicted = [int(line) for line in (path / "predictions.csv").read_text().splitlines()]
    rows = [line.split(",") for line in (path / "probabilities.csv").read_text().splitlines()]
    probabilities = [list(map(float, row)) for row in rows]
    assert predicted == given["swag/swag", "test"].values
    assert [row.index(max(row)) for row in probabilities] == predicted
    assert all(abs(sum(row) - 1) < 1e-6 for row in probabilities)
