"""Reads files of answers and of probabilities by question id, and tells which questions they miss."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from benchrunner import DataError, json_files, quoted
from benchrunner_squad.json_files import kind_of


def read_answers(path: Path) -> dict[str, str]:
    """Read the answers of a file, by question id."""
    answers = _read_by_id(path, "answers")
    for question, value in answers.items():
        if not isinstance(value, str):
            raise DataError(f"{path}: id {quoted(question)}: expected an answer as text, found {kind_of(value)}.")
    return answers


def read_probabilities(path: Path) -> dict[str, float]:
    """Read the probabilities of "no answer" of a file, by question id. Values outside of 0 to 1 are accepted."""
    probabilities = _read_by_id(path, "probabilities")
    for question, value in probabilities.items():
        if type(value) not in (int, float) or not -math.inf < value < math.inf:
            place = f"{path}: id {quoted(question)}"
            raise DataError(f"{place}: expected a probability from 0 to 1, found {kind_of(value)}.")
    return probabilities


def _read_by_id(path: Path, content: str) -> dict[str, Any]:
    values = json_files.read_json(path)
    if not isinstance(values, dict):
        raise DataError(f"{path}: expected an object of {content} by question id, found {kind_of(values)}.")
    return values


def require_all(path: Path, questions: Collection[str], entries: Collection[str], reason: str) -> None:
    """Raise a `DataError` with the reason if a question has no entry in the file."""
    if missing := [question for question in questions if question not in entries]:
        count = f"{len(missing):,} of {len(questions):,} questions have no entry"
        raise DataError(f"{path}: {count}, the first is {quoted(missing[0])}. {reason}")


def note_unanswered(path: Path, questions: Collection[str], answers: Collection[str]) -> Iterable[str]:
    """Yield a note on the questions without an answer in the file, if there are any."""
    if missing := [question for question in questions if question not in answers]:
        count = f"{len(missing):,} of {len(questions):,} questions have no answer"
        yield f"{path}: {count}, the first is {quoted(missing[0])}: each counts 0, as in the official script"


def note_unknown(path: Path, questions: Collection[str], entries: Collection[str]) -> Iterable[str]:
    """Yield a note on the file's entries for unknown questions, if there are any."""
    if unknown := [entry for entry in entries if entry not in questions]:
        count = f"{len(unknown):,} of {len(entries):,} entries are for unknown questions"
        yield f"{path}: {count}, the first is {quoted(unknown[0])}: ignored"


def note_outside(path: Path, probabilities: Mapping[str, float]) -> Iterable[str]:
    """Yield a note on the values that are no probabilities, if there are any."""
    if outside := [question for question, value in probabilities.items() if not 0 <= value <= 1]:
        first = outside[0]
        yield (
            f"{path}: {len(outside):,} values are not from 0 to 1, the first is {probabilities[first]} for "
            f'{quoted(first)}: above 1, the official script replaces the answer by "no answer"'
        )
