"""Files of kept studies, `runs/studies/NAME.json`: find them by name, and list them without reading a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from benchrunner.errors import RequestError, UnknownName
from benchrunner.io.decoding import from_json
from benchrunner.io.seals import read_sealed
from benchrunner.runs.folder import OTHER_RUNS
from benchrunner.studies.kept.kept_form import FORMAT, KeptCell, KeptContent
from benchrunner.studies.kept.naming import check_name


def studies_folder(runs: Path) -> Path:
    """Return the folder of kept studies; it need not exist."""
    return runs / "studies"


@final
@dataclass(frozen=True)
class KeptStudy:
    """A study that is kept under a name: what was asked, planned and selected."""

    name: str
    path: Path
    content: KeptContent

    @property
    def command(self) -> tuple[str, ...]:
        """Words of the command line that repeats the study, without `benchrunner`; empty if Python code ran it."""
        return self.content.command

    @property
    def ended(self) -> str | None:
        """Date and time when the study was complete, in ISO 8601 and UTC; None if it is not."""
        return self.content.ended

    @property
    def backbones(self) -> tuple[str, ...]:
        """Backbones of all systems."""
        return self.content.study.backbones

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks of all cells."""
        return tuple(dict.fromkeys(cell.task for cell in self.content.cells))

    @property
    def fits(self) -> frozenset[str]:
        """Ids of all planned fits, except those of majority answers."""
        return frozenset(fit for cell in self.content.cells for fit in cell.fits)

    @property
    def selected(self) -> frozenset[str]:
        """Ids of the fits that were selected, and of the members of ensembles."""
        selected = {cell.selected for cell in self.content.cells if cell.selected is not None}
        for kept in self.content.figures:
            selected.update(kept.figure.members)
        return frozenset(selected)

    @property
    def limit_dev(self) -> int | None:
        """Smallest number of rows of dev that a cell scores; None if all cells score all rows."""
        limits = [cell.fitting.limit_dev for cell in self.content.cells]
        return min((limit for limit in limits if limit is not None), default=None)

    def as_json(self) -> dict[str, Any]:
        """Return what a list of studies shows, as JSON values."""
        return {
            "name": self.name,
            "path": self.path,
            "command": self.command,
            "started": self.content.started,
            "ended": self.ended,
            "title": self.content.study.title,
            "systems": self.content.study.names,
            "backbones": self.backbones,
            "tasks": self.tasks,
            "fits": sorted(self.fits),
            "selected": sorted(self.selected),
        }

    def runs_for(self, tasks: Collection[str], name: str | None = None) -> list[str]:
        """Return the ids of the runs whose answers stand for a system.

        Only runs of these tasks are returned: the selected run of each task, or all members of an ensemble. `name` may
        be left out if the study has only one system.
        """
        answering = self._answering(set(tasks))
        if name is None:
            if len(answering) > 1:
                raise RequestError(
                    f"The study {self.name} has several systems: {', '.join(answering)}. Say which of them answers "
                    "(--of B on the command line)."
                )
            if not answering:
                raise RequestError(
                    f"The study {self.name} selected no run of {', '.join(tasks)}. Name a study "
                    "that has these tasks: 'benchrunner runs studies' lists them."
                )
            name = next(iter(answering))
        if name not in answering:
            raise UnknownName("system", name, answering, where=f"in the study {self.name}")
        return [run for runs in answering[name].values() for run in runs]

    def _answering(self, tasks: Collection[str]) -> dict[str, dict[str, tuple[str, ...]]]:
        """Map each system to its tasks with the runs that answer; the first selection of a task counts."""
        answering = dict[str, dict[str, tuple[str, ...]]]()
        for cell in self.content.cells:
            runs = self._members(cell) or (() if cell.selected is None else (cell.selected,))
            if runs and cell.columns and cell.task in tasks:
                answering.setdefault(cell.system, {}).setdefault(cell.task, runs)
        return answering

    def _members(self, cell: KeptCell) -> tuple[str, ...]:
        """Return the ids of the fits that answer together in a cell; nothing if each answers alone."""
        for column in cell.columns:
            figure = self.content.others.get((cell.system, column))
            if figure is not None and figure.members:
                return figure.members
        return ()


def find_study(runs: Path, name: str) -> KeptStudy:
    """Find a kept study by its name; raise an `UnknownName` with the names of the others if there is none."""
    known = [path.stem for path in _paths(runs)]
    if name not in known:
        raise UnknownName("kept study", name, known, f"Looked in {studies_folder(runs)}; {OTHER_RUNS}")
    return _read(studies_folder(runs) / f"{check_name(name)}.json")


def kept_studies(runs: Path) -> tuple[list[KeptStudy], list[str]]:
    """Return all kept studies by name, and a sentence for each file that cannot be read."""
    studies, faults = list[KeptStudy](), list[str]()
    for path in _paths(runs):
        try:
            studies.append(_read(path))
        except RequestError as error:
            faults.append(str(error))
    return studies, faults


def _paths(runs: Path) -> Iterator[Path]:
    """Yield the files of kept studies by name, without temporary files."""
    yield from sorted(studies_folder(runs).glob("[!.]*.json"))


def _read(path: Path) -> KeptStudy:
    advice = "Repeat the command of the study, or remove the file."
    data = read_sealed(path, advice)
    if type(data.get("format")) is int and data["format"] > FORMAT:
        raise RequestError(f"{path}: was written by a later version of benchrunner: update benchrunner.")
    try:
        return KeptStudy(path.stem, path, from_json(KeptContent, data, path, RequestError))
    except RequestError as error:
        raise RequestError(f"{error} This is not a kept study of this version. {advice}") from None
