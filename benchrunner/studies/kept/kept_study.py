"""Files of kept studies, `runs/studies/NAME.json`: find them by name, and list them without reading a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from benchrunner.errors import RequestError, UnknownName
from benchrunner.io.seals import read_sealed
from benchrunner.runs.folder import OTHER_RUNS
from benchrunner.studies.kept.naming import check_name

FORMAT = 1
"""Format of the file. A reader refuses files of a later format."""


def studies_folder(runs: Path) -> Path:
    """Return the folder of kept studies; it need not exist."""
    return runs / "studies"


@final
@dataclass(frozen=True)
class KeptStudy:
    """A study that is kept under a name: what was asked, planned and selected."""

    name: str
    path: Path
    content: dict[str, Any]
    """Content of the file."""

    def check(self) -> None:
        """Raise a `LookupError` or a `TypeError` if the file has no values where a study has some."""
        self._answering(set(self.tasks))
        read = (self.command, self.started, self.ended, self.is_study_file, self.tasks, self.backbones, self.selected)
        _ = self.limit_dev
        if not self.fits and not read:
            raise KeyError("fits")

    @property
    def command(self) -> tuple[str, ...]:
        """Words of the command line that repeats the study, without `benchrunner`; empty if Python code ran it."""
        return tuple(self.content["command"])

    @property
    def started(self) -> str:
        """Date and time when the study was first asked for, in ISO 8601 and UTC."""
        return str(self.content["started"])

    @property
    def ended(self) -> str | None:
        """Date and time when the study was complete, in ISO 8601 and UTC; None if it is not."""
        ended = self.content["ended"]
        return None if ended is None else str(ended)

    @property
    def is_study_file(self) -> bool:
        """Whether the study is of a study file, with systems and columns."""
        return self.content["study_file"] is not None

    @property
    def backbones(self) -> tuple[str, ...]:
        """Backbones of all parts."""
        return tuple(dict.fromkeys(name for part in self.content["parts"] for name in part["study"]["backbones"]))

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks of all parts."""
        return tuple(dict.fromkeys(name for part in self.content["parts"] for name in part["study"]["tasks"]))

    @property
    def fits(self) -> frozenset[str]:
        """Ids of all planned fits, except those of majority answers."""
        return frozenset(
            fit["id"]
            for part in self.content["parts"]
            for cell in part["cells"]
            for point in cell["candidates"]
            for fit in point["fits"]
        )

    @property
    def selected(self) -> frozenset[str]:
        """Ids of the fits that were selected, and of the members of ensembles."""
        cells = (cell for part in self.content["parts"] for cell in part["cells"])
        members = (member for entry in self.content["entries"] for member in entry["members"])
        return frozenset(fit for fit in (*(cell.get("selected") for cell in cells), *members) if fit is not None)

    @property
    def limit_dev(self) -> int | None:
        """Smallest number of rows of dev that a part scores; None if all parts score all rows."""
        limits = [part["study"].get("limit_dev") for part in self.content["parts"]]
        return min((limit for limit in limits if limit is not None), default=None)

    def as_json(self) -> dict[str, Any]:
        """Return what a list of studies shows, as JSON values."""
        return {
            "name": self.name,
            "path": str(self.path),
            "command": list(self.command),
            "started": self.started,
            "ended": self.ended,
            "is_study_file": self.is_study_file,
            "backbones": list(self.backbones),
            "tasks": list(self.tasks),
            "fits": sorted(self.fits),
            "selected": sorted(self.selected),
        }

    def runs_for(self, tasks: Collection[str], name: str | None = None) -> list[str]:
        """Return the ids of the runs whose answers stand for a backbone, or for a system of a study file.

        Only runs of these tasks are returned: the selected run of each task, or all members of an ensemble. `name` may
        be left out if the study has only one backbone or system.
        """
        answering = self._answering(set(tasks))
        kind = "system" if self.is_study_file else "backbone"
        if name is None:
            if len(answering) > 1:
                raise RequestError(
                    f"The study {self.name} has several {kind}s: {', '.join(answering)}. Say which of them answers "
                    "(--of B on the command line)."
                )
            if not answering:
                raise RequestError(
                    f"The study {self.name} selected no run of {', '.join(tasks)}. Name a study "
                    "that has these tasks: 'benchrunner runs studies' lists them."
                )
            name = next(iter(answering))
        if name not in answering:
            raise UnknownName(kind, name, answering, where=f"in the study {self.name}")
        return [run for runs in answering[name].values() for run in runs]

    def _answering(self, tasks: Collection[str]) -> dict[str, dict[str, list[str]]]:
        """Map each backbone or system to its tasks with the runs that answer; the first selection of a task counts."""
        parts, answering = self.content["parts"], dict[str, dict[str, list[str]]]()
        cells = [(cell["backbone"], cell, ()) for part in parts for cell in part["cells"]]
        if self.is_study_file:
            entries = [entry for entry in self.content["entries"] if entry["cell"] is not None]
            places = [parts[entry["cell"][0]]["cells"][entry["cell"][1]] for entry in entries]
            cells = [(entry["system"], cell, entry["members"]) for entry, cell in zip(entries, places, strict=True)]
        for name, cell, members in cells:
            runs = list(members) or [run for run in [cell.get("selected")] if run is not None]
            if runs and cell["task"] in tasks:
                answering.setdefault(name, {}).setdefault(cell["task"], runs)
        return answering


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
    try:
        content = read_sealed(path, advice)
        if content["format"] > FORMAT:
            raise RequestError(f"{path}: was written by a later version of benchrunner: update benchrunner.")
        study = KeptStudy(path.stem, path, content)
        study.check()
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise RequestError(f"{path}: is not a kept study ({type(error).__name__}: {error}). {advice}") from None
    return study
