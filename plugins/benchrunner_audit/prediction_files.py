"""Read the answers in prediction files of any system."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchrunner import DataError, Task, quoted, read_text
from benchrunner.engine import Problem
from benchrunner_submit import Leaderboard

_HEADER = ["index", "prediction"]


def labels_by_text(task: Task, boards: Iterable[Leaderboard]) -> dict[str, str]:
    """Collect the texts that boards and the task's own data files use for its labels: text -> label.

    A text that stands for different labels in different places is left out, because a guess could give a wrong score.
    """
    spellings = list[Mapping[str, str]]()
    for board in boards:
        spellings += [file.kind.labels_by_text for file in board.files_of(task.name)]
    for split in task.splits.values():
        spellings += [getattr(source, "labels", {}) for source in split.sources]
    labels = dict[str, str]()
    ambiguous = set[str]()
    for spelling in spellings:
        for text, label in spelling.items():
            if labels.setdefault(text, label) != label:
                ambiguous.add(text)
    return {text: label for text, label in labels.items() if text not in ambiguous}


def read_lines(path: Path, rows: int | None = None) -> list[tuple[int, str]]:
    """Return the line number and the text of each answer in a file, in the order of the rows.

    The file has the header `index<TAB>prediction` and the rows in any order, or one answer a line in the order of the
    rows. `rows` is the number of rows that want an answer; None if it is unknown: then the file has one for each row.
    """
    lines = _lines(path)
    indexed = "\t" in lines[0]
    while not lines[-1] and (indexed or (rows is not None and len(lines) > rows)):
        lines.pop()  # with one answer per line, the last answers may be empty
    expected = len(lines) - indexed if rows is None else rows
    answers = _indexed(path, lines, expected) if indexed else dict(enumerate(enumerate(lines, start=1)))
    if len(answers) != expected:
        count = f"{len(answers):,} answer{'s' * (len(answers) != 1)}{'' if indexed else ', one on each line'}"
        missing = next((index for index in range(expected) if index not in answers), None)
        first = "" if missing is None else f" The first without an answer is row {missing}."
        raise DataError(f"{path}: {count}; expected {expected:,}, one for each row.{first}")
    return [answers[index] for index in range(expected)]


def _lines(path: Path) -> list[str]:
    """Return the lines. Unlike in submissions, line ends and byte order marks of any system are accepted."""
    text = read_text(path, "is it a text file? Unpack archives first.")
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    if lines == [""]:
        raise DataError(f"{path}: the file is empty.")
    return lines


def _indexed(path: Path, lines: list[str], rows: int) -> dict[int, tuple[int, str]]:
    """Return index -> (line, answer)."""
    if lines[0].split("\t") != _HEADER:
        raise DataError(f"{path}:1: expected the header 'index<TAB>prediction', found {quoted(lines[0])}.")
    answers: dict[int, tuple[int, str]] = {}
    for line, text in enumerate(lines[1:], start=2):
        fields = text.split("\t")
        if len(fields) != 2:
            raise DataError(f"{path}:{line}: expected index<TAB>prediction, found {quoted(text)}.")
        index = int(fields[0]) if re.fullmatch(r"[0-9]{1,18}", fields[0]) else rows
        if index >= rows:
            raise DataError(f"{path}:{line}: expected an index from 0 to {rows - 1:,}, found {quoted(fields[0])}.")
        if index in answers:
            before = answers[index][0]
            raise DataError(f"{path}:{line}: index {index} stands on line {before} already; each must stand once.")
        answers[index] = (line, fields[1])
    return answers


def parse_answer(path: Path, line: int, text: str, problem: Problem, spellings: Mapping[str, str]) -> Any:
    """Return the answer that a line of a file holds; a line that holds none raises an error that lists the answers."""
    try:
        return problem.parse(text)
    except ValueError as reason:
        expected = str(reason)
    if text in spellings:
        try:
            return problem.parse(spellings[text])
        except ValueError:  # the spelling is of a board or a data file with other labels
            pass
    different = [spelling for spelling, label in spellings.items() if spelling != label]
    also = f" (or, as files spell them, {', '.join(different)})" if different else ""
    raise DataError(f"{path}:{line}: found {quoted(text)}; expected {expected}{also}.")
