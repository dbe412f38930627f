"""Read the answers of a shared prediction: one JSON object for each row, in the order of the rows."""

from __future__ import annotations

import json
from typing import Any

from benchrunner import DataError, json_files, quoted
from benchrunner.engine import Problem
from benchrunner_share.documents.contents import Figures, answers_name, answers_text
from benchrunner_share.verifying.received_folder import ReceivedFolder, UnreadableFile


def read_answers(folder: ReceivedFolder, prediction: str, rows: int, problem: Problem) -> tuple[list[Any], Figures]:
    """Read the answers to `rows` rows, and their further figures.

    Raises an `UnreadableFile` if there are more or fewer answers, if they are in another order, or if the problem does
    not understand one.
    """
    name = answers_name(prediction)
    answers, figures = _read_at_once(folder, name, rows) or ([], {})
    for index, answer in enumerate(answers):
        _check(answer, name, index, problem)
    return (answers, figures) if answers else _read_by_line(folder, name, rows, problem)


def _read_at_once(folder: ReceivedFolder, name: str, rows: int) -> tuple[list[Any], Figures] | None:
    """Read a file of answers in a tenth of the time, if every byte is as `share` writes it; return None if not."""
    try:
        text = folder.content(name).decode()
        if text.count("\n") != rows:
            return None
        joined = text.removesuffix("\n").replace("\n", ",")
        lines = json.loads(f"[{joined}]")
        json_files.check_depth(lines, name)
        answers = [line["answer"] for line in lines]
        figures = {}
        for figure in lines[0].get("figures", ()):
            figures[figure] = [line["figures"][figure] for line in lines]
        is_as_written = answers_text(answers, figures) == text
    except (DataError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None
    return (answers, figures) if is_as_written else None


def _read_by_line(
    folder: ReceivedFolder, name: str, rows: int, problem: Problem
) -> tuple[list[Any], dict[str, list[Any]]]:
    """Read a file of answers line by line; raise an `UnreadableFile` that names the first wrong line."""
    count = sum(1 for _ in folder.lines(name))
    if count != rows:
        raise UnreadableFile(f"{name}: wrong number of rows: {count:,} answers, and the data here has {rows:,} rows.")
    answers = list[Any]()
    figures = dict[str, list[Any]]()
    for index, line in enumerate(folder.json_lines(name)):
        if line.get("index") != index or "answer" not in line or line.keys() - {"index", "answer", "figures"}:
            raise UnreadableFile(
                f"{name}, line {index + 1:,}: the answer to row {index:,} is expected, with its index."
            )
        _check(line["answer"], name, index, problem)
        answers.append(line["answer"])
        own = line.get("figures", {})
        if not isinstance(own, dict) or (index and own.keys() != figures.keys()):
            raise UnreadableFile(f"{name}, line {index + 1:,}: its figures are not those of the lines before.")
        for figure, value in own.items():
            figures.setdefault(figure, []).append(value)
    return answers, figures


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
