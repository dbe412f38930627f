"""The file of MultiRC on the leaderboard: a line for each passage, with its questions and their answers inside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from benchrunner import Answers, ExpectedRows, Faults, FileKind

NUMBERS = {"false": 0, "true": 1}
"""The task's label -> the file's value."""
Place = tuple[Any, Any, Any]
"""The numbers of a passage, a question and an answer."""
FORM = '{"idx": 0, "passage": {"questions": [{"idx": 0, "answers": [{"idx": 0, "label": 0}, ...]}, ...]}}'
_SHOWN = 3


class MultiRcFile(FileKind):
    """Nested objects as in the official data, with the numbers and the labels alone. Rows are answers."""

    unit: ClassVar[str] = "line"

    @property
    def row_columns(self) -> tuple[str, ...]:
        return ("passage", "question", "answer")

    @property
    def labels_by_text(self) -> Mapping[str, str]:
        return {str(number): label for label, number in NUMBERS.items()}

    def write(self, name: str, answers: Answers) -> bytes:
        assert answers.table is not None  # a file of `row_columns` is written with the rows only
        faults = Faults(name, "answer")
        passages: dict[int, dict[int, list[dict[str, int]]]] = {}
        for place, answer in zip(_places(answers.table), answers.values, strict=True):
            if answer not in NUMBERS:
                faults.at(" ".join(map(str, place)), answer, "expected false or true")
                continue
            passage, question, number = place
            questions = passages.setdefault(passage, {})
            questions.setdefault(question, []).append({"idx": number, "label": NUMBERS[answer]})
        faults.refuse()
        lines = (
            json.dumps({"idx": passage, "passage": {"questions": _questions(questions)}})
            for passage, questions in passages.items()
        )
        return "".join(f"{line}\n" for line in lines).encode()

    def find_faults(self, content: bytes, expected: ExpectedRows, faults: Faults) -> None:
        line_of: dict[Place, int] = {}
        for number, line in enumerate(content.decode(errors="replace").removesuffix("\n").split("\n"), start=1):
            for place, label in self._answers(number, line, faults):
                if place in line_of:
                    faults.at(number, _named(place), "this answer is there already; each must be there once")
                if type(label) is not int or label not in (0, 1):
                    faults.at(number, json.dumps(label), "expected the label 0 or 1")
                line_of.setdefault(place, number)
        expected.check_count(len(line_of), "answer", faults)
        if expected.table is not None:
            places = _places(expected.table)
            known = set(places)
            missing = [_named(place) for place in places if place not in line_of]
            unknown = [_named(place) for place in line_of if place not in known]
            if missing:
                faults.say(f"no label for {_listed(missing)}; every answer of the rows must be there")
            if unknown:
                faults.say(f"no row is {_listed(unknown)}; these may be of other rows")

    @staticmethod
    def _answers(number: int, line: str, faults: Faults) -> Iterator[tuple[Place, Any]]:
        """Yield the place and the label of each answer in a line, or add a fault."""
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
            return
        yield from answers


def _questions(questions: Mapping[int, list[dict[str, int]]]) -> list[dict[str, Any]]:
    return [{"idx": question, "answers": answers} for question, answers in questions.items()]


def _places(table: Any) -> list[Place]:
    return list(zip(*(table.column(name).to_pylist() for name in ("passage", "question", "answer")), strict=True))


def _named(place: Place) -> str:
    return "passage {} question {} answer {}".format(*place)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
