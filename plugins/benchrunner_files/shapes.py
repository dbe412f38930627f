"""Shapes: how the columns of a file become the columns of a problem, row by row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

from benchrunner import DataError, Rows, quoted, sources
from benchrunner.engine import Problem
from benchrunner_kinds import Candidates, Span, Tag

Place = str | int | tuple[str, ...]
"""Where a file has a column: its name, `a.b` for the key b of the object at a, its number in a file of words, or
several columns that make a list."""


@final
@dataclass(frozen=True)
class Shape:
    """Columns of a problem, with their places in a file."""

    problem: Problem
    places: Mapping[str, Place]
    labels: Mapping[str, str] = field(default_factory=dict)
    """Label in the file, as JSON writes it if it is no text -> label of the task."""

    @property
    def read_columns(self) -> dict[str, Any]:
        """Name -> place of each column that the source reads; a list of several columns is read as `name.0`, ..."""
        columns: dict[str, Any] = {}
        for name, place in self.places.items():
            if isinstance(place, tuple):
                columns |= {f"{name}.{number}": part for number, part in enumerate(place)}
            else:
                columns[name] = place
        return columns

    def missing(self, names: Sequence[str]) -> dict[str, str]:
        """Return the problem's columns whose columns in the file are not among some names, with the first such name."""
        missing = {}
        for name, place in self.places.items():
            for part in reversed(place if isinstance(place, tuple) else (str(place),)):
                if part not in names and part.partition(".")[0] not in names:
                    missing[name] = part
        return missing

    def without(self, columns: Collection[str]) -> Shape:
        """Return a copy of the shape that lacks these columns of the problem."""
        return replace(self, places={name: place for name, place in self.places.items() if name not in columns})

    @property
    def named(self) -> Shape:
        """The shape of a file whose columns have the names of the problem's columns."""
        return replace(self, places={name: name for name in self.places})

    def columns_of(self, rows: Rows) -> dict[str, Any]:
        """Return the columns of the problem, each as a list of values."""
        columns: dict[str, Any] = {}
        for name, place in self.places.items():
            if isinstance(place, tuple) and name not in rows.table.column_names:
                parts = [rows.table.column(f"{name}.{number}").to_pylist() for number in range(len(place))]
                columns[name] = list(map(list, zip(*parts, strict=True)))
            elif name in rows.table.column_names:
                columns[name] = rows.table.column(name).to_pylist()
        if "document" in rows.table.column_names and "document" not in columns:
            columns["document"] = rows.table.column("document").to_pylist()
        for name in self.problem.label_columns:
            if name in columns and self.labels:
                columns[name] = [sources.respelled(value, self.labels) for value in columns[name]]
        return self._of_problem(rows, columns)

    def _of_problem(self, rows: Rows, columns: dict[str, Any]) -> dict[str, Any]:
        """Give columns the types of the problem: lists of words, numbers of texts, answers with their places."""
        if isinstance(self.problem, Tag):
            for name in ("words", "labels"):
                if name in columns:
                    columns[name] = [value.split() if isinstance(value, str) else value for value in columns[name]]
            if "document" in columns:
                columns["document"] = list(map(_whole, columns["document"]))
        elif isinstance(self.problem, Candidates) and "label" in columns:
            columns["label"] = list(map(_whole, columns["label"]))
        elif isinstance(self.problem, Span):
            columns.setdefault("id", [str(number) for number in range(len(rows))])
            if "answers" in columns:
                columns["answers"] = [_listed(value) for value in columns["answers"]]
                columns["starts"] = self._starts(rows, columns)
        return columns

    def _starts(self, rows: Rows, columns: Mapping[str, Any]) -> list[list[Any]]:
        """Return the offset of each answer in the context: in the column `starts`, or of its first occurrence."""
        if "starts" in columns:
            answers = columns["answers"]
            starts = [list(map(_whole, _listed(value))) for value in columns["starts"]]
            return [start if texts else [] for start, texts in zip(starts, answers, strict=True)]
        starts = []
        for row, (context, answers) in enumerate(zip(columns["context"], columns["answers"], strict=True)):
            starts.append([str(context).find(answer) for answer in answers])
            if -1 in starts[row]:
                answer = answers[starts[row].index(-1)]
                raise DataError(f"{rows.where(row)}: the answer {quoted(answer)} is not in the context.")
        return starts


def _listed(value: Any) -> list[Any]:
    """Return a list as it is, and a single value as a list; nothing and an empty text are an empty list."""
    if isinstance(value, list):
        return value
    return [] if value in (None, "") else [value]


def _whole(value: Any) -> Any:
    """Return the number that a text of digits writes; other values as they are, for the problem to refuse."""
    is_digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19
    return int(value) if is_digits else value
