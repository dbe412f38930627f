"""Kept studies, `runs/studies/NAME.json`: what was asked, planned and selected. Fields are the keys of the file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

from benchrunner.errors import RequestError, UnknownName
from benchrunner.fits.cost import Cost
from benchrunner.io.decoding import from_json
from benchrunner.io.json_form import WHEN_GIVEN
from benchrunner.io.seals import read_sealed
from benchrunner.metrics import Score
from benchrunner.plugins.registry import Plugins
from benchrunner.runs.folder import OTHER_RUNS
from benchrunner.studies.cells import Candidate, Cell, CellKey, CellResult, Figure, Fitting, Selection
from benchrunner.studies.contrasts import meant_name
from benchrunner.studies.predictions import Key, PredictionIds
from benchrunner.studies.study import Place, Study
from benchrunner.tasks.task import Term

FORMAT = 1
"""Format of the file. A reader refuses files of a later format."""


@final
@dataclass(frozen=True)
class KeptCell:
    """A cell of a study: what was asked, then the planned fits, then the outcome."""

    system: str
    backbone: str
    task: str
    method: str | None
    columns: tuple[str, ...]
    tests: tuple[str, ...]
    selection: Selection
    fitting: Fitting
    candidates: tuple[Candidate, ...] = ()
    """Empty until the fits are planned."""
    selected: str | None = None
    """Id of the selected fit."""
    lost: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Fit id -> status and reason of a fit without scores."""
    predictions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Fit id -> split -> id of the prediction that was scored."""
    failed_predictions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Fit id -> split -> reason why there is no prediction."""
    skips_first: bool = field(default=False, metadata=WHEN_GIVEN)
    """See `Cell.skips_first`."""

    @classmethod
    def of(cls, cell: Cell) -> KeptCell:
        """Return a cell in the form of the file, with the fits that are planned."""
        return cls(
            cell.system,
            cell.backbone,
            cell.task.name,
            cell.method,
            cell.columns,
            cell.tests,
            cell.selection,
            cell.fitting,
            cell.candidates,
            skips_first=cell.skips_first,
        )

    @property
    def key(self) -> CellKey:
        """What tells the cell from the other cells of its study."""
        return self.system, self.columns

    @property
    def asked(self) -> KeptCell:
        """The cell before anything was planned."""
        return replace(self, candidates=(), selected=None, lost={}, predictions={}, failed_predictions={})

    @property
    def fits(self) -> Iterator[str]:
        """Ids of all fits."""
        for point in self.candidates:
            for fit in point.fits:
                yield fit.id

    def with_outcome(self, result: CellResult, ids: PredictionIds) -> KeptCell:
        """Return a planned cell with its outcome: selected and lost fits, and ids of predictions."""
        lost = {}
        for fit, text in result.lost.items():
            status, _, reason = text.partition(": ")
            lost[fit] = (status, reason)
        return replace(
            self,
            selected=None if result.selected is None else result.selected.id,
            lost=lost,
            predictions=_by_fit(ids.found, result.cell),
            failed_predictions=_by_fit(ids.failed, result.cell),
        )

    def rebuilt(self, plugins: Plugins) -> Cell:
        """Make the cell of which this is the form in the file, without its fits."""
        return Cell(
            self.system,
            plugins.tasks.find(self.task),
            selection=self.selection,
            tests=self.tests,
            backbone=self.backbone,
            method=self.method,
            fitting=self.fitting,
            columns=self.columns,
            skips_first=self.skips_first,
        )


def _by_fit(values: Mapping[Key, str], cell: Cell) -> dict[str, dict[str, str]]:
    """Map each fit of a cell to its values by split; leave out fits without values."""
    by_fit = dict[str, dict[str, str]]()
    for fit in cell.fits:
        for split in cell.scored_splits:
            value = values.get((fit.id, fit.task, split))
            if value is not None:
                by_fit.setdefault(fit.id, {})[split] = value
    return by_fit


@final
@dataclass(frozen=True)
class KeptFigure:
    """A figure that does not follow from the scores of fits."""

    system: str
    column: str
    figure: Figure


@final
@dataclass(frozen=True)
class KeptStudy:
    """A study that is kept under a name: what was asked, planned and selected."""

    format: int
    name: str
    command: tuple[str, ...]
    """Words of the command line that repeats the study, without `benchrunner`; empty if Python code ran it."""
    benchrunner: str
    """Version that wrote the file."""
    started: str
    """Date and time when the study was first asked for, in ISO 8601 and UTC."""
    ended: str | None
    """Date and time when the study was complete; None if it is not."""
    study: Study
    """The study without its cells, which stand beside it."""
    cells: tuple[KeptCell, ...]
    """The cells of first tasks, then those of the columns."""
    baseline: tuple[tuple[Term, Score], ...] = ()
    """Scores of the majority answers of the waves that are finished."""
    figures: tuple[KeptFigure, ...] = ()
    costs: tuple[Cost, ...] = ()
    """What the systems cost, as it was measured last."""
    data: Path | None = None
    """Folder of the raw data files that the study was run with; None if it was run without."""
    path: Path | None = field(default=None, compare=False)
    """The file; None in the file itself."""

    def __post_init__(self) -> None:
        if len({cell.key for cell in self.cells}) != len(self.cells):
            raise ValueError("two cells are of the same system and columns")

    @property
    def request(self) -> tuple[Study, list[KeptCell]]:
        """What was asked."""
        return self.study, [cell.asked for cell in self.cells]

    @property
    def others(self) -> dict[Place, Figure]:
        """(system, column) -> figure of an ensemble or of a log, which scores of single fits do not give."""
        return {(kept.system, kept.column): kept.figure for kept in self.figures}

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks of all cells."""
        return tuple(dict.fromkeys(cell.task for cell in self.cells))

    @property
    def fits(self) -> frozenset[str]:
        """Ids of all planned fits, except those of majority answers."""
        return frozenset().union(*(cell.fits for cell in self.cells))

    @property
    def selected(self) -> frozenset[str]:
        """Ids of the fits that were selected, and of the members of ensembles."""
        selected = {cell.selected for cell in self.cells if cell.selected}
        for kept in self.figures:
            selected.update(kept.figure.members)
        return frozenset(selected)

    def as_json(self) -> dict[str, Any]:
        """Return what a list of studies shows, as JSON values."""
        return {
            "name": self.name,
            "path": self.path,
            "command": self.command,
            "started": self.started,
            "ended": self.ended,
            "title": self.study.title,
            "systems": self.study.names,
            "backbones": self.study.backbones,
            "tasks": self.tasks,
            "fits": sorted(self.fits),
            "selected": sorted(self.selected),
        }

    def runs_for(self, tasks: Collection[str], name: str | None = None) -> list[str]:
        """Return the ids of the runs whose answers stand for a system.

        Only runs of these tasks are returned: the selected run of each task, or all members of an ensemble. `name` may
        be left out if the study has only one system.
        """
        answering = self._answering(self.cells, tasks)
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
        name = meant_name(name, self.study) or name
        if name not in answering:
            raise UnknownName("system", name, answering, where=f"in the study {self.name}")
        return _joined(answering[name])

    def submit_commands(self, plugins: Plugins) -> dict[str, tuple[str, ...]]:
        """Map each system to the words of the command that writes its submission to the study's leaderboard.

        Nothing is fitted again: a system without a finished fit for any of the board's tasks has no command, and
        neither has a system whose weights were not kept. An incomplete study has no commands.
        """
        has_all_rows = self.study.limit_dev is None  # few rows of dev select no submission
        if self.ended is None or not has_all_rows or self.study.board not in plugins.leaderboards:
            return {}
        board = plugins.leaderboards.find(self.study.board)
        wanted = {task for task, _ in board.wanted}
        usable = [cell for cell in self.cells if cell.fitting.keep != "none"]
        commands = {}
        for system, runs in self._answering(usable, wanted).items():
            words = ["submit", board.name, "--ensemble", *_joined(runs)]
            if wanted - runs.keys():
                words += ["--fill", "majority"]
            commands[system] = tuple(words)
        return commands

    def _answering(self, cells: Iterable[KeptCell], tasks: Collection[str]) -> dict[str, dict[str, tuple[str, ...]]]:
        """Map each system to its tasks with the runs that answer.

        Several columns of one task may select different fits: the first column counts.
        """
        answering: dict[str, dict[str, tuple[str, ...]]] = {}
        others = self.others
        for cell in cells:
            runs: tuple[str, ...] = (cell.selected,) if cell.selected else ()
            for column in cell.columns:
                figure = others.get((cell.system, column))
                if figure and figure.members:  # an ensemble answers
                    runs = figure.members
            if runs and cell.columns and cell.task in tasks:
                of_system = answering.setdefault(cell.system, {})
                of_system.setdefault(cell.task, runs)
        return answering


def _joined(runs: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the runs of all tasks."""
    return [run for of_task in runs.values() for run in of_task]


def study_path(runs: Path, name: str) -> Path:
    """Return the file of a kept study; it need not exist."""
    return runs / "studies" / f"{name}.json"


def find_study(runs: Path, name: str, others: Iterable[str] = ()) -> KeptStudy:
    """Find a kept study by its name; raise an `UnknownName` with close names if there is none.

    `others` are names of what is no kept study, and could be meant as well.
    """
    known = [path.stem for path in _paths(runs)]
    path = study_path(runs, name)
    if name not in known:
        raise UnknownName("study", name, [*known, *others], f"Looked in {path.parent}; {OTHER_RUNS}")
    return _read(path)


def kept_studies(runs: Path) -> tuple[list[KeptStudy], list[str]]:
    """Return all kept studies by name, and a sentence for each file that cannot be read. No run is read."""
    studies = []
    faults = []
    for path in _paths(runs):
        try:
            studies.append(_read(path))
        except RequestError as error:
            faults.append(str(error))
    return studies, faults


def _paths(runs: Path) -> list[Path]:
    """List the files of kept studies by name, without temporary files."""
    return sorted(study_path(runs, "").parent.glob("[!.]*.json"))


def _read(path: Path) -> KeptStudy:
    advice = "Repeat the command of the study, or remove the file."
    data = read_sealed(path, advice)
    if type(data.get("format")) is int and data["format"] > FORMAT:
        raise RequestError(f"{path}: was written by a later version of benchrunner: update benchrunner.")
    try:
        kept = from_json(KeptStudy, data, path, RequestError)
    except RequestError as error:
        raise RequestError(f"{error} This is not a kept study of this version. {advice}") from None
    return replace(kept, name=path.stem, path=path)
