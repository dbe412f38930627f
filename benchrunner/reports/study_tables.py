"""The table and the curves of a study file, for its report."""

from __future__ import annotations

from collections.abc import Iterator

from benchrunner.reports.contents import Series, StudyTable
from benchrunner.study_files import table
from benchrunner.study_files.study_file import Column, System
from benchrunner.study_files.table import StudyFileResult


def study_table(result: StudyFileResult) -> StudyTable:
    """Return the systems of a study file with their figures, published figures below them, and its curves."""
    study = result.study
    columns = tuple(column.name for column in study.columns)
    return StudyTable(columns, tuple(_rows(result)), study.axis, tuple(_series(result)), tuple(table.footnotes(result)))


def _rows(result: StudyFileResult) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    study = result.study
    for system in study.systems:
        yield system.name, tuple(_text(result, system, column) for column in study.columns), False
        if published := _published(result, system.published_name):
            yield system.published_name, published, True
    for row in study.published_alone:
        if published := _published(result, row.name):
            yield row.name, published, True


def _text(result: StudyFileResult, system: System, column: Column) -> str:
    """Write a figure, with its interval on a second line."""
    interval = result.statistics.interval_shown((system.name, column.name))
    return f"{table.figure_text(result, system, column)}\n{interval}".rstrip()


def _published(result: StudyFileResult, name: str) -> tuple[str, ...]:
    """Return the published figures of a row as texts, "" for a column without a figure; () if no column has one."""
    figures = [result.study.published_figure(name, column.name) for column in result.study.columns]
    if all(figure is None for figure in figures):
        return ()
    return tuple("" if figure is None else f"{figure:g}" for figure in figures)


def _series(result: StudyFileResult) -> Iterator[Series]:
    """Yield the lines of a figure; none if the study file is only a table."""
    for line in table.as_json(result)["series"]:
        yield Series(line["column"], line["series"], tuple(line["at"]), tuple(line["mean"]), tuple(line["deviation"]))
