"""The form of a kept study in its file: what was asked, planned and selected. Its fields are the keys of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import final

from benchrunner.plugins.registry import Plugins
from benchrunner.studies.cells import Candidate, Cell, CellResult, Figure, Fitting, Selection
from benchrunner.studies.kept.noted_predictions import Key, PredictionIds
from benchrunner.studies.study import Place, Study

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

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        """What tells the cell from the other cells of its study."""
        return self.system, self.columns

    @property
    def asked(self) -> KeptCell:
        """The cell before anything was planned."""
        return replace(self.planned, candidates=())

    @property
    def planned(self) -> KeptCell:
        """The cell before any fit ran."""
        return replace(self, selected=None, lost={}, predictions={}, failed_predictions={})

    @property
    def fits(self) -> Iterator[str]:
        """Ids of all fits."""
        for point in self.candidates:
            yield from (fit.id for fit in point.fits)


@final
@dataclass(frozen=True)
class KeptMajority:
    """The fit of a task's majority answer, with its predictions by split."""

    fit: str
    predictions: Mapping[str, str]


@final
@dataclass(frozen=True)
class KeptFigure:
    """A figure that does not follow from the scores of fits."""

    system: str
    column: str
    figure: Figure


@final
@dataclass(frozen=True)
class KeptContent:
    """The content of the file of a kept study."""

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
    """The study without its cells."""
    cells: tuple[KeptCell, ...]
    """The cells of first tasks, then those of the columns."""
    majority: Mapping[str, KeptMajority] = field(default_factory=dict)
    """Task -> its majority answer."""
    figures: tuple[KeptFigure, ...] = ()
    submissions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len({cell.key for cell in self.cells}) != len(self.cells):
            raise ValueError("two cells are of the same system and columns")

    @property
    def request(self) -> tuple[Study, list[KeptCell]]:
        """What was asked."""
        return self.study, [cell.asked for cell in self.cells]

    @property
    def others(self) -> dict[Place, Figure]:
        """The figures that do not follow from the scores of fits."""
        return {(kept.system, kept.column): kept.figure for kept in self.figures}


def without_cells(study: Study) -> Study:
    """Return a study as its file has it: the cells stand beside it."""
    return replace(study, cells=(), stages=())


def kept_cells(cells: Iterable[Cell]) -> tuple[KeptCell, ...]:
    """Return cells in the form of the file, with the fits that are planned."""
    kept = list[KeptCell]()
    for cell in cells:
        asked = (cell.system, cell.backbone, cell.task.name, cell.method, cell.columns, cell.tests)
        kept.append(KeptCell(*asked, cell.selection, cell.fitting, cell.candidates))
    return tuple(kept)


def with_outcome(kept: KeptCell, result: CellResult, ids: PredictionIds) -> KeptCell:
    """Return a planned cell with its outcome: selected and lost fits, and ids of predictions."""
    lost = dict[str, tuple[str, str]]()
    for fit, text in result.lost.items():
        status, _, reason = text.partition(": ")
        lost[fit] = (status, reason)
    return replace(
        kept,
        selected=None if result.selected is None else result.selected.id,
        lost=lost,
        predictions=_by_fit(ids.found, result.cell),
        failed_predictions=_by_fit(ids.failed, result.cell),
    )


def _by_fit(values: Mapping[Key, str], cell: Cell) -> dict[str, dict[str, str]]:
    """Map each fit of a cell to its values by split; leave out fits without values."""
    by_fit = dict[str, dict[str, str]]()
    for fit in cell.fits:
        for split in cell.scored_splits:
            if (fit.id, fit.task, split) in values:
                by_fit.setdefault(fit.id, {})[split] = values[fit.id, fit.task, split]
    return by_fit


def prediction_ids(kept: KeptCell) -> PredictionIds:
    """Return the predictions from which a cell was scored."""
    ids = PredictionIds()
    for values, listed in ((kept.predictions, ids.found), (kept.failed_predictions, ids.failed)):
        for fit, of_splits in values.items():
            listed |= {(fit, kept.task, split): value for split, value in of_splits.items()}
    return ids


def rebuilt_cell(kept: KeptCell, plugins: Plugins) -> Cell:
    """Make a cell from its form in the file."""
    started = next((fit.backbone for point in kept.candidates for fit in point.fits), "") or kept.backbone
    return Cell(
        kept.system,
        plugins.tasks.find(kept.task),
        kept.candidates,
        kept.selection,
        kept.tests,
        started,
        kept.method,
        kept.fitting,
        kept.columns,
    )
