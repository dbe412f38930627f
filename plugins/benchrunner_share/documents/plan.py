"""The facts of a shared study: its plan, and what nobody can compute. All else in its folder follows from the facts.

The facts are the plan, the fits and the answers. `study.json` has the plan beside what follows from it.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, final
from urllib.parse import urlsplit

from benchrunner import BenchrunnerError, RequestError, Rows, Task, quoted
from benchrunner.engine import decoding
from benchrunner.results import CellResult, Fit, Plugins, cells
from benchrunner_share.documents.contents import FORMAT, are_sealed

LONGEST_SECONDS = 1e9
"""Longest time that a folder may claim for a part of a fit: 30 years."""
_FIRST_DAY = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@final
@dataclass(frozen=True)
class SharedFit:
    """A fit and how it was computed, without names of the machine."""

    fit: Fit
    timings: Mapping[str, float]
    numerics: Mapping[str, Any]

    def __post_init__(self) -> None:
        checked_texts([self.timings, self.numerics, self.fit.suppliers])
        if not all(0 <= seconds <= LONGEST_SECONDS for seconds in self.timings.values()):
            raise ValueError("timings are seconds by name, between 0 and 30 years")

    def named(self, task: str, backbone: str) -> SharedFit:
        """Return the fit with the names of a cell; equal fits may have others."""
        return replace(self, fit=replace(self.fit, task=task, backbone=backbone if self.fit.revision else ""))


@final
@dataclass(frozen=True)
class PlannedPoint:
    """A grid point of a cell."""

    recipe: Mapping[str, Any]
    """The values of all fields."""
    fits: tuple[str, ...]
    """Ids of the fits, in the order of the seeds."""
    rows: int | None
    """Number of training rows; None if they were not counted."""

    def __post_init__(self) -> None:
        check_ids(self.fits)
        if not self.fits:
            raise ValueError("a grid point has at least one fit")


@final
@dataclass(frozen=True)
class PlannedCell:
    """The plan of a cell, and which fits have no answers."""

    system: str
    backbone: str
    task: str
    method: str
    fitting: cells.Fitting
    selection: cells.Selection
    tests: tuple[str, ...]
    candidates: tuple[PlannedPoint, ...]
    lost: Mapping[str, tuple[Literal["diverged", "failed"], str]]
    """Id of a fit -> why it has no answers."""

    def __post_init__(self) -> None:
        if not self.candidates:
            raise ValueError("a cell has at least one grid point")

    @classmethod
    def of(cls, result: CellResult) -> PlannedCell:
        """Take the plan from the result of a cell."""
        cell = result.cell
        points = []
        lost = {}
        for point in cell.candidates:
            points.append(PlannedPoint(point.recipe.as_dict(), tuple(fit.id for fit in point.fits), point.rows))
        for fit, words in result.lost.items():
            status, _, reason = words.partition(": ")
            lost[fit] = (status, reason)
        return cls(
            cell.system,
            cell.backbone,
            cell.task.name,
            next(cell.fits).method,
            cell.fitting,
            cell.selection,
            cell.tests,
            tuple(points),
            lost,  # type: ignore[arg-type]
        )

    @property
    def fits(self) -> Iterator[str]:
        """Ids of all fits."""
        for point in self.candidates:
            yield from point.fits


@final
@dataclass(frozen=True)
class RowFacts:
    """The rows of a split that were answered."""

    rows: int
    fingerprint: str
    columns: Mapping[str, str]
    """Column -> its fingerprint."""
    sealed: bool
    """Whether the rows have no labels, so that only whoever has these can score the answers."""

    @classmethod
    def of(cls, rows: Rows, task: Task) -> RowFacts:
        """Describe rows, gold included."""
        return cls(len(rows), rows.fingerprint, rows.column_fingerprints, are_sealed(rows, task))


Index = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Id of a fit -> task -> split -> id of the prediction."""


@final
@dataclass(frozen=True)
class Plan:
    """The plan of a shared study, and the claims about it."""

    name: str
    """Name of the study."""
    answered: str
    """Date and time of the newest answers."""
    benchrunner: str
    """Version that wrote the folder."""
    url: str | None
    """Address at which the folder is published."""
    left_out_bad_rows: bool
    """Whether rows that cannot be read were left out."""
    suppliers: Mapping[str, str] = field(default_factory=dict)
    """Task -> title of its plugin."""
    data: Mapping[str, Mapping[str, RowFacts]] = field(default_factory=dict)
    """Task -> split -> the rows that were answered."""
    predictions: Index = field(default_factory=dict)
    cells: tuple[PlannedCell, ...] = ()

    def __post_init__(self) -> None:
        try:
            date = datetime.datetime.fromisoformat(self.answered)
            is_date = date.isoformat(timespec="seconds") == self.answered
            is_past = _FIRST_DAY <= date < datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
        except (ValueError, TypeError):  # a time without a zone cannot be compared
            is_date = False
        if not is_date or not is_past:
            raise RequestError(f"{quoted(self.answered)} is no date and time at which answers were given.")
        if not self.name.strip():
            raise RequestError("The name of a shared study is empty.")
        checked_texts(decoding.as_json(self))
        if self.url is not None:
            _check_url(self.url)
        if not {cell.task for cell in self.cells} <= self.data.keys():
            raise ValueError("a cell has a task whose rows are not described")
        check_ids(self.prediction_ids)

    @property
    def prediction_ids(self) -> Iterator[str]:
        """Ids of all predictions."""
        for of_fit in self.predictions.values():
            for of_task in of_fit.values():
                yield from of_task.values()

    @classmethod
    def of_content(cls, content: Mapping[str, Any], place: str, error: type[BenchrunnerError]) -> Plan:
        """Take the plan from the content of a study; raise an `error` that names the place for wrong values."""
        planned = []
        for cell in content["result"]["cells"]:
            planned.append({part.name: cell[part.name] for part in fields(PlannedCell)})
        known = {**content, "cells": planned}
        return decoding.from_json(cls, {part.name: known[part.name] for part in fields(cls)}, place, error)

    def content(self, outcomes: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the plan as the content of a study; `outcomes` are those of the cells, by their numbers."""
        values: dict[str, Any] = decoding.as_json(self)
        of_cells = values.pop("cells")
        for number, outcome in outcomes.items():
            of_cells[number] |= outcome
        return {"format": FORMAT, **values, "result": {"cells": of_cells}}


def answered(result: CellResult) -> Iterator[tuple[Fit, str]]:
    """Yield the fits of a cell with the splits that they answered.

    All fits answer dev, and the restarts of the chosen grid point answer the test splits.
    """
    for fit in result.cell.fits:
        if fit.id not in result.lost:
            splits = result.cell.scored_splits if fit in result.restarts else result.cell.task.named("dev")
            for split in splits:
                yield fit, split


def plan_of(
    claims: Plan,
    results: Iterable[CellResult],
    plugins: Plugins,
    rows: Callable[[Task, str], RowFacts],
    prediction: Callable[[CellResult, Fit, str], str],
) -> Plan:
    """Return the plan of some cells, with the claims of another. The functions describe rows and name predictions."""
    suppliers = {}
    data = dict[str, dict[str, RowFacts]]()
    index = dict[str, dict[str, dict[str, str]]]()
    planned = []
    for result in results:
        planned.append(PlannedCell.of(result))
        task = result.cell.task
        suppliers[task.name] = plugins.supplier(task).title
        of_task = data.setdefault(task.name, {})
        for split in (*task.named("dev"), *(split for _, split in answered(result))):
            of_task[split] = of_task.get(split) or rows(task, split)
        for fit, split in answered(result):
            index.setdefault(fit.id, {}).setdefault(task.name, {})[split] = prediction(result, fit, split)
    return replace(claims, suppliers=suppliers, data=data, predictions=index, cells=tuple(planned))


def check_ids(values: Iterable[str]) -> None:
    """Raise a `ValueError` for a text that is no id of a fit or a prediction, such as the path of a file."""
    for value in values:
        if not re.fullmatch(r"[0-9a-f]{16}", value):
            raise ValueError(f"{quoted(value)} is not an id of 16 hexadecimal digits")


def _check_url(url: str) -> None:
    """Raise a `RequestError` if an address is none of the web, or holds characters that end or break a line."""
    if not url.startswith(("https://", "http://")):
        raise RequestError(f"The address of a shared folder begins with https://, not {quoted(url)}.")
    try:
        has_host = bool(urlsplit(url).hostname)
    except ValueError:
        has_host = False
    if not has_host or not url.isprintable() or any(character in url for character in " <>\"'`\\^{}|"):
        raise RequestError(f"The address {quoted(url)} is not one of the web: it has no host, or blanks or quotes.")


def checked_texts(value: Any) -> None:
    """Raise a `RequestError` if a text of a JSON value has a line break or a character that does not print."""
    if isinstance(value, str) and not value.isprintable():
        raise RequestError(
            f"The text {quoted(value)} has line breaks or characters that do not print. Give it another name."
        )
    for inner in value.items() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        checked_texts(inner)
