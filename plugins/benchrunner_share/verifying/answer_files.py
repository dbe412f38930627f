"""Read the answers of a shared prediction: one JSON object for each row, in the order of the rows."""

from __future__ import annotations

import bisect
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from benchrunner import DataError, json_files, quoted
from benchrunner.engine import Problem
from benchrunner_share.documents.contents import answers_name, answers_text
from benchrunner_share.verifying.received_folder import ReceivedFolder, UnreadableFile

BLOCK = 2**20
"""Bytes that are parsed together, which takes a tenth of the time of single lines."""
Answered = tuple[list[Any], dict[str, list[Any]]]
"""Answers and further figures of rows."""


def read_answers(folder: ReceivedFolder, prediction: str, rows: int, problem: Problem) -> Answered:
    """Read the answers to `rows` rows, and their further figures.

    Raises an `UnreadableFile` if there are more or fewer answers, if a byte is not as `share` writes it, or if the
    problem does not understand an answer.
    """
    name = answers_name(prediction)
    answers = list[Any]()
    figures = dict[str, list[Any]]()
    for lines in _blocks(folder.lines(name)):
        start = len(answers)
        names = list(figures) if answers else None
        parsed = _parsed(lines, start, names)
        if parsed is None:
            counts = range(1, len(lines) + 1)
            wrong = bisect.bisect_left(counts, True, key=lambda count: _parsed(lines[:count], start, names) is None)
            line = lines[wrong].decode(errors="backslashreplace").rstrip("\n")
            raise UnreadableFile(
                f"{name}, line {start + wrong + 1:,}: {quoted(line)} stands there, and the answer to row "
                f"{start + wrong:,} is expected, with its index, as 'benchrunner share' writes it."
            )
        for index, answer in enumerate(parsed[0], start):
            _check(answer, name, index, problem)
        answers += parsed[0]
        for figure, values in parsed[1].items():
            figures.setdefault(figure, []).extend(values)
        if len(answers) > rows:
            break
    if len(answers) != rows:
        count = sum(1 for _ in folder.lines(name))
        raise UnreadableFile(f"{name}: wrong number of rows: {count:,} answers, and the data here has {rows:,} rows.")
    return answers, figures


def _blocks(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield lines in blocks of about `BLOCK` bytes."""
    block = list[bytes]()
    size = 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size > BLOCK:
            yield block
            block = []
            size = 0
    if block:
        yield block


def _parsed(lines: Sequence[bytes], start: int, names: Sequence[str] | None) -> Answered | None:
    """Parse lines from the row `start` on; return None unless every byte is as `share` writes it.

    `names` are those of the figures in the lines before; None if there are no lines before.
    """
    try:
        text = b"".join(lines).decode()
        joined = text.removesuffix("\n").replace("\n", ",")
        values = json.loads(f"[{joined}]")
        json_files.check_depth(values, "")
        if names is None:
            names = list(values[0].get("figures", ()))
        answers = [value["answer"] for value in values]
        figures = {}
        for name in names:
            figures[name] = [value["figures"][name] for value in values]
        is_as_written = answers_text(answers, figures, start) == text
    except (DataError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None
    return (answers, figures) if is_as_written else None


def _check(answer: Any, name: str, index: int, problem: Problem) -> None:
    """Raise an `UnreadableFile` if a problem does not understand an answer."""
    try:
        parsed = problem.parse(problem.spell(answer))
        if type(parsed) is not type(answer):
            raise TypeError
    except ValueError as expected:
        reason = f"the answer {quoted(answer)} is edited or damaged; expected {expected}"
    except Exception as error:  # a plugin's problem may fail in any way on a value that it never gave
        reason = f"the answer {quoted(answer)} is no answer of the kind '{problem.name}' ({type(error).__name__})"
    else:
        return
    raise UnreadableFile(f"{name}, line {index + 1:,}: {reason}.")
