"""Kept studies of study files: the file's systems and columns with their figures, to and from JSON values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchrunner.errors import RequestError
from benchrunner.leaderboards.published import PublishedRow
from benchrunner.runs.runner import Runner
from benchrunner.studies.kept.kept_study import KeptStudy, find_study
from benchrunner.studies.kept.parts import part_result
from benchrunner.studies.study import Result
from benchrunner.study_files.entries import Entry
from benchrunner.study_files.study_file import Column, Scale, Stage, StudyFile, System
from benchrunner.study_files.table import StudyFileResult

Cells = Mapping[tuple[str, str], Entry]


def read_study(name: str, runner: Runner) -> Result | StudyFileResult:
    """Rebuild the result of a kept study from its file and the run folders. Nothing is fitted or predicted.

    Needs the plugins of the study's tasks, but neither data nor backbones. A study that is not complete has the fits
    that are finished by now. A study file gives a `StudyFileResult`.
    """
    return result_of_kept(find_study(runner.workspace.runs, name), runner)


def result_of_kept(study: KeptStudy, runner: Runner) -> Result | StudyFileResult:
    """Rebuild the result of a kept study, as `read_study` does."""
    try:
        parts = tuple(part_result(part, runner, study.name) for part in study.content["parts"])
        if not study.is_study_file:
            return parts[0]
        file = study_file_from_json(study.content["study_file"])
        entries = _absent(file) | entries_from_json(study.content["entries"], parts)
        submissions = {system: tuple(words) for system, words in study.content["submissions"].items()}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise RequestError(f"{study.path}: cannot be read by this version ({reason}). Repeat its command.") from None
    return StudyFileResult(file, entries, parts, submissions, name=study.name)


def _absent(study: StudyFile) -> dict[tuple[str, str], Entry]:
    """Return an entry without a figure for every measured cell of the table."""
    absent = Entry(reason="the study is not complete: repeat its command")
    measured = [column.name for column in study.columns if column.is_measured]
    return {(system.name, column): absent for system in study.systems for column in measured}


def study_file_json(study: StudyFile) -> dict[str, Any]:
    """Return a study file as JSON values."""
    values = dataclasses.asdict(study)
    systems = [system | {"figures": _text(system["figures"])} for system in values["systems"]]
    return values | {"path": str(study.path), "systems": systems}


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def study_file_from_json(data: Mapping[str, Any]) -> StudyFile:
    """Make a study file from what `study_file_json` gives."""
    return StudyFile(
        **{
            **data,
            "path": Path(data["path"]),
            "systems": tuple(_system(system) for system in data["systems"]),
            "columns": tuple(Column(**{**column, "mean": tuple(column["mean"])}) for column in data["columns"]),
            "published": tuple(PublishedRow(**row) for row in data["published"]),
            "scale": Scale(**data["scale"]),
        }
    )


def _system(data: Mapping[str, Any]) -> System:
    figures, first = data["figures"], data["first"]
    make = tuple(tuple(words) for words in data["make"])
    changed = {
        "make": make,
        "figures": None if figures is None else Path(figures),
        "first": None if first is None else Stage(**first),
    }
    return System(**{**data, **changed})


def entries_json(entries: Cells, results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the figures of a study file as JSON values. `cell` is the number of a result, and of a cell in it."""
    places = {
        id(cell): [number, place] for number, result in enumerate(results) for place, cell in enumerate(result.cells)
    }
    return [
        {
            "system": system,
            "column": column,
            **{name: getattr(entry, name) for name in _FIGURES},
            "cell": None if entry.cell is None else places[id(entry.cell)],
        }
        for (system, column), entry in entries.items()
    ]


def entries_from_json(data: Sequence[Mapping[str, Any]], results: Sequence[Result]) -> dict[tuple[str, str], Entry]:
    """Make the figures of a study file from what `entries_json` gives and from the rebuilt results."""
    entries = {}
    for entry in data:
        figures = {name: entry[name] for name in _FIGURES}
        lists = {name: tuple(figures[name]) for name in ("restarts", "members")}
        cell = None if entry["cell"] is None else results[entry["cell"][0]].cells[entry["cell"][1]]
        entries[entry["system"], entry["column"]] = Entry(**{**figures, **lists}, cell=cell)
    return entries


_FIGURES = tuple(field.name for field in dataclasses.fields(Entry) if field.name != "cell")
"""Fields of an entry that are plain values."""
