"""Ranking of candidates: rows, losses, answers, and the files of WikiQA."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from benchrunner import DataError, Recipe, Rows, Workspace
from benchrunner.engine import Features, collate
from benchrunner_kit.testing import TinyEncoder, check_problem, check_task
from benchrunner_ranking import WIKIQA, Rank

COLUMNS = {
    "a": ["one", "two", "three", "four"],
    "choices": [["x y", "y", "z"], ["x", "z z"], ["y", "x", "z", "w"], ["w", "x"]],
    "label": [[0, 2, 1], [1, 0], [0, 0, 1, 1], [0, 1]],
}


def rows(**columns: list[Any]) -> Rows:
    return Rows(pa.table({**COLUMNS, **columns}), "made.jsonl", [1, 2, 3, 4])


def encoded(problem: Rank) -> tuple[Features, pa.Table]:
    table = problem.check(rows(), labelled=True)
    return problem.encode(table, TinyEncoder(), Recipe(), training=True), table


def loss_of(problem: Rank, outputs: torch.Tensor, units: list[int]) -> float:
    features, _ = encoded(problem)
    places = np.concatenate([np.arange(features.groups[unit], features.groups[unit + 1]) for unit in units])
    batch = collate(features, np.array(units), torch.device("cpu"))
    return problem.loss(outputs[torch.from_numpy(places)], batch).item()


def test_the_problem_keeps_its_contract() -> None:
    check_problem(Rank(), COLUMNS)


def test_the_task_keeps_its_contract(tmp_path: Path) -> None:
    check_task(WIKIQA, tmp_path)


def test_the_loss_is_the_entropy_of_shares_and_softmax() -> None:
    outputs = torch.linspace(-2, 3, 11)[:, None]
    scores = np.split(outputs[:, 0].double().numpy(), [3, 5, 9])
    expected = 0.0
    for row in (2, 0, 1):
        total = sum(COLUMNS["label"][row])
        for grade, score in zip(COLUMNS["label"][row], scores[row], strict=True):
            probability = math.exp(score) / sum(map(math.exp, scores[row]))
            expected -= grade / total * math.log(probability)
    assert loss_of(Rank(), outputs, [2, 0, 1]) == pytest.approx(expected, rel=1e-6)


def test_without_relevant_candidates_there_is_no_loss() -> None:
    problem = Rank()
    table = problem.check(rows(label=[[0, 0, 0], [0, 0], [0, 0, 0, 0], [0, 0]]), labelled=True)
    features = problem.encode(table, TinyEncoder(), Recipe(), training=True)
    outputs = torch.ones((11, 1), requires_grad=True)
    loss = problem.loss(outputs, collate(features, np.arange(4), torch.device("cpu")))
    loss.backward()
    assert loss.item() == 0.0 and outputs.grad is not None and not outputs.grad.any()


def test_answers_begin_with_the_highest_score() -> None:
    problem = Rank()
    table = problem.check(rows(ids=[["p", "q", "r"], ["s", "t"], ["u", "v", "w", "x"], ["y", "z"]]), labelled=True)
    scores = np.array([0.1, 0.3, 0.1, 1, 2, 0, 0, 0, 0, 5, 4], dtype=np.float32)
    answers = problem.decode(scores, table, {})
    assert answers[:2] == [[["q", 0.3], ["p", 0.1], ["r", 0.1]], [["t", 2.0], ["s", 1.0]]]
    assert problem.parse(problem.spell(answers[0])) == answers[0]


def test_candidates_of_one_score_each_are_constant_answers() -> None:
    problem = Rank()
    assert problem.is_constant([[["a", 1.0], ["b", 1.0]], [["c", 2.0]]])
    assert not problem.is_constant([[["a", 1.0], ["b", 0.0]], [["c", 2.0]]])


@pytest.mark.parametrize(
    "text", ["hello", "3", '[["a", 1], ["a", 2]]', '[["a", NaN]]', '[["a"]]', "[[1, 2]]", '{"a": 1}']
)
def test_a_line_that_is_no_ranking_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a JSON list of pairs"):
        Rank().parse(text)


FAULTS: dict[str, tuple[dict[str, list[Any]], str]] = {
    "too few grades": ({"label": [[0, 2, 1], [1], [0, 0, 1, 1], [0, 1]]}, r"made.jsonl:2: label '\[1\]' is not a list"),
    "half a grade": ({"label": [[0.5, 2.0, 1.0], [1.0, 0.0], [0.0] * 4, [0.0, 1.0]]}, "made.jsonl:1: label .* is not"),
    "one id twice": ({"ids": [["p", "p", "r"], ["s", "t"], list("uvwx"), ["y", "z"]]}, "made.jsonl:1: two candidates"),
    "too few ids": (
        {"ids": [["p", "q", "r"], ["s"], list("uvwx"), ["y", "z"]]},
        "made.jsonl:2: 1 ids for 2 candidates",
    ),
    "no candidates": ({"choices": [[], ["x"], ["y"], ["z"]]}, "made.jsonl:1: column 'choices' must be a list of one"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_row_is_named(fault: str) -> None:
    columns, message = FAULTS[fault]
    with pytest.raises(DataError, match=message):
        Rank().check(rows(**columns), labelled=True)


# --- WikiQA


HEAD = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"


def wikiqa(folder: Path, lines: str) -> Rows:
    (folder / "WikiQA-dev.tsv").write_text(HEAD + lines)
    workspace = Workspace(runs=folder, cache=folder, data=folder.parent)
    return WIKIQA.load("dev", workspace)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "WikiQACorpus").mkdir()
    return tmp_path / "WikiQACorpus"


def test_the_lines_of_a_question_are_one_row(folder: Path) -> None:
    lines = 'Q1\twho ?\tD1\tT\tD1-0\tHe "said".\t0\nQ1\twho ?\tD1\tT\tD1-1\tShe.\t1\nQ2\thow ?\tD2\tT\tD2-0\tSo.\t1\n'
    first, second = wikiqa(folder, lines).table.to_pylist()
    assert first["a"] == "who ?" and first["choices"] == ['He "said".', "She."] and first["query_id"] == "Q1"
    assert first["label"] == [{"id": "D1-0", "grade": 0}, {"id": "D1-1", "grade": 1}]
    assert second["ids"] == ["D2-0"]


def test_questions_without_a_right_sentence_are_left_out(folder: Path) -> None:
    loaded = wikiqa(folder, "Q1\twho ?\tD1\tT\tD1-0\tHe.\t0\nQ2\thow ?\tD2\tT\tD2-0\tSo.\t1\n")
    assert len(loaded) == 1
    assert "left out 1 of 2 rows: questions without a right sentence" in loaded.notes[0]


def test_a_question_in_two_places_is_an_error(folder: Path) -> None:
    lines = "Q1\ta\tD\tT\tD-0\tx\t1\nQ2\ta\tD\tT\tE-0\tx\t1\nQ1\ta\tD\tT\tD-1\tx\t1\n"
    with pytest.raises(DataError, match=r"WikiQA-dev\.tsv: the lines of the question 'Q1' do not stand together"):
        wikiqa(folder, lines)


def test_another_label_than_0_and_1_is_an_error(folder: Path) -> None:
    with pytest.raises(DataError, match=r"WikiQA-dev\.tsv: the sentence 'D-0' has the label 'yes', not 0 or 1"):
        wikiqa(folder, "Q1\ta\tD\tT\tD-0\tx\tyes\n")
