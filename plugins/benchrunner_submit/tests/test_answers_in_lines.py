"""Answers as lines of text and of JSON: written one after another, however many there are."""

import json
import tracemalloc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from benchrunner.runs import folder
from benchrunner.runs.ensembles import Answered
from benchrunner.runs.folder import answer_lines, parse_answers
from benchrunner_kinds import Choose
from benchrunner_submit.own_questions.answer_texts import AnswerTexts
from inline import mood

ROWS: Any = SimpleNamespace(lines=(), origin="", notes=())


class Figures:
    """Figures of rows, which counts how often they are read."""

    def __init__(self, rows: int) -> None:
        self.rows, self.read = rows, 0

    def __iter__(self) -> Iterator[list[float]]:
        for _ in range(self.rows):
            self.read += 1
            yield [0.25, 0.75]


def answered(rows: int) -> tuple[Answered, Figures]:
    figures = Figures(rows)
    given: Any = {"probabilities": figures}
    return Answered(mood(), ROWS, ["glad"] * rows, given, {}, "fit"), figures


@pytest.mark.parametrize("form", ["lines", "json_lines"])
def test_each_row_of_probabilities_is_made_once(form: str) -> None:
    made, figures = answered(50)
    lines = list(getattr(AnswerTexts(made, has_probabilities=True), form)())
    assert figures.read == 50
    assert lines[-1] in (
        "49\tglad\t0.25\t0.75\n",
        '{"index": 49, "answer": "glad", "probabilities": {"glad": 0.25, "sad": 0.75}}\n',
    )


def test_an_answer_without_its_probabilities_is_not_left_out() -> None:
    made = Answered(mood(), ROWS, ["glad", "sad"], {"probabilities": [[0.25, 0.75]]}, {}, "fit")
    with pytest.raises(ValueError, match="shorter"):
        list(AnswerTexts(made, has_probabilities=True).lines())


def test_probabilities_of_choices_are_one_column_of_json() -> None:
    made = Answered(mood(problem=Choose(2)), ROWS, [1], {"probabilities": [[0.25, 0.75]]}, {}, "fit")
    lines = list(AnswerTexts(made, has_probabilities=True).lines())
    assert lines == ["index\tprediction\tprobabilities\n", "0\t1\t[0.25, 0.75]\n"]


@pytest.mark.parametrize("form", ["lines", "json_lines"])
def test_lines_of_many_answers_are_not_held_in_memory(form: str) -> None:
    made, _ = answered(20_000)
    tracemalloc.start()
    size = sum(map(len, getattr(AnswerTexts(made), form)()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 200_000 and peak < 50_000


def test_answers_are_parsed_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [{"row": row, "text": "a\u2028b"} for row in range(10)]
    sizes: list[int] = []
    loads = json.loads

    def counted(text: str) -> Any:
        values = loads(text)
        sizes.append(len(values))
        return values

    monkeypatch.setattr(folder, "_PARSED", 4)
    monkeypatch.setattr("benchrunner.runs.folder.json.loads", counted)
    assert parse_answers(answer_lines(answers)) == answers and sizes == [4, 4, 2]
    assert parse_answers([]) == []
