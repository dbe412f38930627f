"""Keep a study in its file while the study runs: the plan before the fits start, and the outcome at the end."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, final

from benchrunner.errors import RequestError
from benchrunner.fits.fit import Fit
from benchrunner.io.seals import write_sealed
from benchrunner.runs.runner import Runner
from benchrunner.studies.kept.kept_study import FORMAT, find_study, studies_folder
from benchrunner.studies.kept.naming import check_name
from benchrunner.studies.kept.parts import Part, finished_part, planned_part
from benchrunner.studies.kept.predictions import PredictionIds
from benchrunner.studies.study import Cell, Result, Study


@final
class StudyKeeper:
    """Writes the file of one kept study. A study has one part, a study file several: one after another.

    A file of the same name is replaced. If it holds the same request, its dates and the outcome of equal parts stay.
    """

    def __init__(
        self,
        runner: Runner,
        name: str,
        request: Mapping[str, Any],
        *,
        command: Sequence[str] = (),
        study_file: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = check_name(name)
        self._path = studies_folder(runner.workspace.runs) / f"{name}.json"
        self._before: dict[str, Any] = {}
        with contextlib.suppress(RequestError):  # no such study, or a damaged file, which is written anew
            kept = find_study(runner.workspace.runs, name).content
            self._before = kept if kept["request"] == _as_json(request) else {}
        self._content: dict[str, Any] = {
            "format": FORMAT,
            "name": name,
            "command": list(command) or self._before.get("command", []),
            "benchrunner": runner.plugins.core.version,
            "started": self._before.get("started", _now()),
            "ended": None,
            "request": _as_json(request),
            "parts": [],
            "study_file": _as_json(study_file),
            "entries": [],
            "submissions": {},
        }

    def planned(self, study: Study, cells: Iterable[Cell]) -> None:
        """Add a part and write it, before its fits start."""
        part = _as_json(planned_part(study, cells))
        self._content["parts"].append(self._known(part) or part)
        self._write()

    def finished(self, result: Result, ids: PredictionIds, majority: Mapping[str, Fit]) -> None:
        """Add the outcome to the part that was planned last. The file is not written yet."""
        self._content["parts"][-1] = _as_json(finished_part(self._content["parts"][-1], result, ids, majority))

    def complete(self, **values: Any) -> None:
        """Write that every part is finished. `values` replace keys of the file."""
        self._content |= {name: _as_json(value) for name, value in values.items()}
        ended = self._before.get("ended")
        is_repeated = {**self._content, "ended": ended} == self._before
        self._content["ended"] = ended if is_repeated else _now()
        self._write()

    def _known(self, part: Part) -> Part | None:
        """Return the part as the file had it with its outcome, if the same fits were planned before."""
        for before in self._before.get("parts", ()):
            cells = [{name: cell[name] for name in _PLANNED} for cell in before["cells"]]
            if {"study": before["study"], "cells": cells} == part:
                return dict(before)
        return None

    def _write(self) -> None:
        write_sealed(self._path, self._content)


_PLANNED = ("backbone", "task", "selection", "tests", "candidates")
"""Keys of a cell that are known before its fits run."""


def _as_json(value: Any) -> Any:
    """Return a value as its file gives it: tuples as lists."""
    if isinstance(value, Mapping):
        return {str(name): _as_json(inner) for name, inner in value.items()}
    return [_as_json(inner) for inner in value] if isinstance(value, list | tuple) else value


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
