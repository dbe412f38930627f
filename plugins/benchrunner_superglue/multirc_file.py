"""The file of MultiRC on the leaderboard: a line for each passage, with its questions and their answers inside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchrunner import Faults
from benchrunner_submit import Answers, ExpectedRows, FileKind

NUMBERS = {"false": 0, "true": 1}
"""The task's label -> the file's value."""
PLACE = ("passage", "question", "answer")
"""Columns of the rows with the numbers of a passage, a question and an answer."""
FORM = '{"idx": 0, "passage": {"questions": [{"idx": 0, "answers": [{"idx": 0, "label": 0}, ...]}, ...]}}'


class MultiRcFile(FileKind):
    """A line for each passage, with its questions and their answers inside, as numbers and labels. Rows are answers."""

    @property
    def row_columns(self) -> tuple[str, ...]:
        return PLACE

    @property
    def labels_by_text(self) -> Mapping[str, str]:
        return {str(number): label for label, number in NUMBERS.items()}

    def write(self, name: str, answers: Answers) -> bytes:
        faults = Faults(name, "answer")
        passages: dict[int, dict[int, list[dict[str, int]]]] = {}
        places = [answers.column(column) for column in PLACE]
        for passage, question, number, answer in zip(*places, answers.values, strict=True):
            if answer not in NUMBERS:
                faults.at(f"{passage} {question} {number}", answer, "expected false or true")
                continue
            questions = passages.setdefault(passage, {})
            questions.setdefault(question, []).append({"idx": number, "label": NUMBERS[answer]})
        faults.refuse()
        lines = list[str]()
        for passage, questions in passages.items():
            inner = [{"idx": question, "answers": given} for question, given in questions.items()]
            lines.append(json.dumps({"idx": passage, "passage": {"questions": inner}}) + "\n")
        return "".join(lines).encode()

    def read(self, content: bytes, expected: ExpectedRows, faults: Faults) -> Sequence[str]:
        ids = list[tuple[int, Any]]()
        texts = list[str]()
        lines = content.decode(errors="replace").removesuffix("\n").split("\n")
        for number, line in enumerate(lines, start=1):
            for place, label in _answers(number, line, faults):
                if type(label) is not int or label not in (0, 1):
                    faults.at(number, json.dumps(label), "expected the label 0 or 1")
                ids.append((number, place))
                texts.append(str(label))
        expected.check_count(len(ids), "answer", faults)
        expected.check_ids(ids, faults, columns=PLACE)
        return texts


def _answers(number: int, line: str, faults: Faults) -> list[tuple[tuple[int, int, int], Any]]:
    """List the place and the label of each answer in a line; none, with a fault, where the line has another form."""
    answers = []
    try:
        passage = json.loads(line)
        for question in passage["passage"]["questions"]:
            for answer in question["answers"]:
                place = (passage["idx"], question["idx"], answer["idx"])
                if not all(type(part) is int for part in place):
                    raise TypeError
                answers.append((place, answer["label"]))
    except (ValueError, LookupError, TypeError, RecursionError):
        faults.at(number, line, f"expected an object such as {FORM}")
        return []
    return answers
