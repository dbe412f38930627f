"""The result of a study: figures, statistics and costs, from which tables, reports and shared folders are made."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from benchrunner.errors import RequestError, UnknownName
from benchrunner.fits.cost import Cost
from benchrunner.metrics import Score
from benchrunner.plugins.registry import Plugins
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import CellResult, Figure, different_fits
from benchrunner.studies.entries import NO_TERM, Entry, Statistics
from benchrunner.studies.kept.kept_study import find_study
from benchrunner.studies.predictions import KeptPredictions, ReadOnce
from benchrunner.studies.study import Column, Place, Study
from benchrunner.tasks.task import Term

if TYPE_CHECKING:
    import pandas


@final
@dataclass(frozen=True)
class Computing:
    """How the fits of a study were computed, from their records."""

    seconds: float = 0.0
    """Seconds of all fits together, those included that an earlier study ran."""
    devices: tuple[str, ...] = ()
    versions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Library -> the versions with which fits were computed."""
    without_kernels: str = ""
    """Vector units, as torch names them, of a processor that fitted without kernels, which are not installed."""


@final
@dataclass(frozen=True)
class Result:
    """A finished study."""

    study: Study
    cells: tuple[CellResult, ...]
    """Results of all systems and tasks, after those of the tasks on which systems were fine-tuned first. A system and a
    task have several cells if columns differ in recipe, method or selection; `of` and `averages` take the first."""
    baseline: Mapping[Term, Score]
    """Scores of the majority answer on every scored split."""
    name: str = ""
    """Name under which the study is kept in the runs folder."""
    runner: Runner | None = field(default=None, repr=False, compare=False)
    """Runner of the study; None if the result was made without a runner."""
    others: Mapping[Place, Figure] = field(default_factory=dict)
    """Figures of ensembles, and of logs that building a system leaves: they do not follow from the scores of fits."""
    submissions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """System -> words of the benchrunner command that writes its submission to the study's leaderboard."""
    costs: tuple[Cost, ...] = ()
    """What the systems cost, where a plugin measured it."""
    html: Callable[[Result], str | None] | None = field(default=None, repr=False, compare=False)
    """Writes the table that a notebook shows."""
    given_statistics: Statistics | None = field(default=None, repr=False, compare=False)
    """Statistics that are known already; None means that they are computed on first use."""

    def of(self, system: str, task: str) -> CellResult:
        """Return the result on a task of a system, one of `Study.names`."""
        return next(cell for cell in self.table_cells if (cell.cell.system, cell.cell.task.name) == (system, task))

    def _repr_html_(self) -> str | None:
        """Return the table of `compare`, which a notebook shows for a result."""
        return None if self.html is None else self.html(self)

    @cached_property
    def table_cells(self) -> tuple[CellResult, ...]:
        """The cells from which columns take their figures: all but those of first tasks."""
        return tuple(cell for cell in self.cells if cell.cell.columns)

    @cached_property
    def cell_at(self) -> Mapping[Place, CellResult]:
        """(system, column) -> the cell whose score the table shows there."""
        return {(cell.cell.system, column): cell for cell in self.cells for column in cell.cell.columns}

    def columns_of(self, cell: CellResult) -> dict[Term, str]:
        """Map the metrics that columns show of a cell to the names of the columns."""
        return {
            column.term(cell.cell.task): column.name
            for column in self.study.columns
            if column.name in cell.cell.columns
        }

    @cached_property
    def figures(self) -> Mapping[Place, Figure]:
        """The figure of every system, then of every arm, in every column that measures something."""
        figures = {}
        for column in self.study.columns:
            for system in self.study.names:
                if column.task or column.figure:
                    figures[system, column.name] = self._figure(system, column)
        for column in self.study.columns:  # after the columns that they are computed from
            if column.mean:
                for system in self.study.names:
                    parts = {name: figures.get((system, name)) for name in column.mean}
                    figures[system, column.name] = _mean(parts)
        for arm, systems in self.study.arms.items():
            for column in self.study.columns:
                if column.is_measured:
                    figures[arm, column.name] = _of_arm({name: figures[name, column.name] for name in systems})
        return figures

    def _figure(self, system: str, column: Column) -> Figure:
        place = (system, column.name)
        if place in self.others:
            return self.others[place]
        cell = self.cell_at.get(place)
        if cell is None:
            return Figure.absent("the study is not complete: repeat its command")
        return cell.figures.get(column.term(cell.cell.task)) or Figure.absent("no fit finished")

    @property
    def plugins(self) -> Plugins | None:
        """The plugins that compare and describe the systems; None if the result was made without a runner."""
        for runner in (self.runner, *(cell.runner for cell in self.cells)):
            if runner is not None:
                return runner.plugins
        return None

    @cached_property
    def statistics(self) -> Statistics:
        """Intervals of the figures, and tests between systems, by the plugin that compares; computed on first use."""
        statistics = self.given_statistics
        if statistics is None and self.plugins is not None:
            statistics = self.plugins.hook.compare_systems(result=self)
        return statistics or Statistics()

    @cached_property
    def entries(self) -> Mapping[Place, Entry]:
        """Every figure of `figures` with what is known of it."""
        return {place: self._entry(place, figure, self.cell_at.get(place)) for place, figure in self.figures.items()}

    def entries_of(self, cell: CellResult) -> Iterator[Entry]:
        """Yield the scores of a cell, also those that no column shows."""
        columns = self.columns_of(cell)
        for term, figure in cell.figures.items():
            yield self._entry((cell.cell.system, columns.get(term, "")), figure, cell, term)

    def _entry(self, place: Place, figure: Figure, cell: CellResult | None = None, term: Term = NO_TERM) -> Entry:
        statistics = self.statistics
        return Entry(
            *place,
            figure,
            cell,
            term,
            self.baseline.get(term),
            statistics.intervals.get(place),
            statistics.ranks.get(place[1], {}).get(place[0]),
            statistics.trials.get(place),
            statistics.standings.get(place, ""),
            statistics.of_places.get(place, {}),
        )

    @cached_property
    def computing(self) -> Computing | None:
        """How the fits of the study were computed, read from their records; None without a runner."""
        if self.runner is None:
            return None
        seconds = 0.0
        bare = ""
        devices = dict[str, None]()
        versions = dict[str, tuple[str, ...]]()
        for fit in different_fits(result.cell for result in self.cells):
            record = self.runner.folder(fit).record()
            if record is None:
                continue
            seconds += record.timings.get("seconds", 0.0)
            numerics = record.numerics
            if numerics.get("kernels") == "torch" and self.runner.plugins.kernels is None:  # loads torch
                bare = str(numerics.get("capability", ""))
            device, name = numerics.get("device"), numerics.get("device_name")
            if device:
                devices[str(device) if name in (None, "", device) else f"{device} ({name})"] = None
            for library, version in dict(numerics.get("versions") or {}).items():
                known = versions.get(library, ())
                versions[library] = known if str(version) in known else (*known, str(version))
        return Computing(seconds, tuple(devices), versions, bare)

    @property
    def command(self) -> tuple[str, ...]:
        """Words of the command line that repeats the study, without `benchrunner`; empty if there is none.

        A study that Python code ran has none, nor has a result of runs that were named one by one.
        """
        if self.runner is None or not self.name:
            return ()
        try:
            return find_study(self.runner.workspace.runs, self.name).command
        except UnknownName:
            return ()

    def read_once(self, runner: Runner) -> Result:
        """Return this result with predictions that are read from disk at most once, for code that asks for them often.

        Cells without a runner get this one, and the newest kept predictions of their fits.
        """
        cells = list[CellResult]()
        for cell in self.cells:
            own = cell.runner or runner
            predictions = ReadOnce(cell.predictions or KeptPredictions(own))
            cells.append(replace(cell, runner=own, predictions=predictions))
        return replace(self, cells=tuple(cells), runner=self.runner or runner)

    def averages(self, system: str) -> dict[str, tuple[float | None, float | None]]:
        """Map each average's name to its value over the best scores and over the means; None if a term is missing."""
        best = dict[Term, float]()
        mean = dict[Term, float]()
        for cell in self.table_cells:
            if cell.cell.system != system:
                continue
            for term, figure in cell.figures.items():
                if figure.best.value is not None:
                    best.setdefault(term, figure.best.value)
                if figure.mean.value is not None:
                    mean.setdefault(term, figure.mean.value)
        averages = {}
        for task in self.study.tasks:
            if task.suite is not None:
                for average in task.suite.averages:
                    averages[average.name] = (average.of(best), average.of(mean))
        return averages

    @property
    def is_complete(self) -> bool:
        """Whether every fit finished and has scores."""
        return not any(cell.lost for cell in self.cells)

    def to_pandas(self, *, long: bool = False, every_metric: bool = False) -> pandas.DataFrame:
        """Return the table of `table` with a row for each system, or with `long` a row for each score (`scores`)."""
        try:
            import pandas
        except ImportError:
            raise RequestError("A data frame needs pandas, which is not installed: pip install pandas") from None
        if long:
            return pandas.DataFrame(list(self.scores()))
        return pandas.DataFrame(self.table(every_metric=every_metric)).set_index("system")

    def table(self, *, every_metric: bool = False) -> list[dict[str, Any]]:
        """Return a row for each system and arm: fractions and costs of `scores`, averages, and the mean rank.

        The columns are the headline metrics of the tasks, with `every_metric` all metrics, or those of a study file.
        """
        shown = [column.name for column in self.study.shown_columns(every_metric=every_metric)]
        hidden = {column.name for column in self.study.columns}.difference(shown)
        hidden.add("")  # a score that no column shows; costs have columns beside those of the study
        table: dict[str, dict[str, Any]] = {}
        for name in (*self.study.names, *self.study.arms):
            table[name] = {"system": name, **dict.fromkeys(shown)}
        for row in self.scores():
            if row["column"] not in hidden:
                key = f"{row['column']} {row['unit']}".rstrip()
                table[row["system"]][key] = row["score"]
        for name, of_system in table.items():
            if not self.study.systems_down:
                for average, (_, mean) in self.averages(name).items():
                    if mean is not None:
                        of_system[average] = mean
            if name in self.statistics.mean_ranks:
                of_system["mean rank"] = self.statistics.mean_ranks[name].mean
        return list(table.values())

    def scores(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each system, task, split and metric, then for figures that no single fit has.

        These are means of columns, arms, ensembles and costs.

        Scores are fractions. `sd` is their standard deviation over the restarts, `low` and `high` end the interval over
        examples, `values` has the score of each restart in the order of the seeds, and `mark` what the tests say.
        """
        left = dict(self.figures)
        for cell in self.cells:
            for entry in self.entries_of(cell):
                place = (entry.system, entry.column)
                if place not in self.others:
                    left.pop(place, None)
                    yield entry.row()
        for place, figure in left.items():
            yield self._entry(place, figure).row()
        for cost in self.costs:
            row = Entry(cost.system, cost.quantity, Figure.absent(cost.note)).row()
            yield row | {"score": cost.value, "low": cost.low, "high": cost.high, "unit": cost.unit}


def _mean(parts: Mapping[str, Figure | None]) -> Figure:
    """Return the mean of the figures of other columns; it has no value if any of these has none.

    Figures of one scale have a mean of this scale. Others are averaged as tables show them.
    """
    figures = []
    missing = []
    for name, figure in parts.items():
        if figure is None or figure.mean.value is None:
            missing.append(name)
        else:
            figures.append(figure)
    if missing:
        return Figure.absent(f"there is no figure in {', '.join(missing)}")
    scales = {figure.scale for figure in figures}
    scale = scales.pop() if len(scales) == 1 else 1.0
    means = [(figure.shown(figure.mean.value) or 0.0) / scale for figure in figures]
    return replace(Figure.single(statistics.fmean(means)), scale=scale)


def _of_arm(parts: Mapping[str, Figure]) -> Figure:
    """Return the mean of the figures of an arm's systems, with its deviation between these pre-trainings."""
    figure = _mean(parts)
    if figure.mean.value is None:
        return figure
    values = [part.mean.value for part in parts.values() if part.mean.value is not None]
    deviation = statistics.stdev(values) if len(values) > 1 else None
    decimals = next(iter(parts.values())).decimals
    best = Score(None, "nothing selects among pre-trainings")
    return replace(figure, best=best, values=tuple(values), deviation=deviation, decimals=decimals)
