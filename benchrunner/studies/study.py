"""Studies: which backbones, tasks and recipes are compared, and the result of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

from benchrunner.console.printing import shortened
from benchrunner.errors import FitError, RequestError, UnknownName
from benchrunner.fits.fit import Fit
from benchrunner.metrics import Score
from benchrunner.parameters.recipes import Grid, NamedRecipe, Recipe
from benchrunner.runs.runner import Runner
from benchrunner.studies.answered_rows import answered_rows
from benchrunner.studies.predictions import Predictions
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task

if TYPE_CHECKING:
    import pandas

MOST_FITS = 1_000_000
"""Largest number of fits in a study: more is a slip of the hand, and planning them would fill the memory."""

SELECT = ("mean", "best")
"""Values of a selection's `rule`."""


@final
@dataclass(frozen=True)
class Selection:
    """How scores on dev select a grid point, and a fit among its restarts."""

    rule: str = "mean"
    """`mean`: the grid point with the best mean over its restarts, then its best restart. `best`: the best single fit
    of all grid points and restarts, as in Devlin et al. 2019."""
    metric: str | None = None
    """Name of the metric that selects; None is the headline of each task."""
    split: str | None = None
    """Name of the dev split that selects; None is `Task.selection_splits`."""

    def __post_init__(self) -> None:
        if self.rule not in SELECT:
            raise RequestError(f"select must be {' or '.join(SELECT)}, not '{self.rule}'.")

    def metric_of(self, task: Task) -> str:
        """Name the metric of a task that selects; raise a `RequestError` if the task does not have it."""
        names = [metric.name for metric in task.metrics]
        if self.metric is None:
            return names[0]
        if self.metric not in names:
            raise RequestError(f"{task.name} has no metric '{self.metric}' to select by; it has {', '.join(names)}.")
        return self.metric

    def splits_of(self, task: Task) -> tuple[str, ...]:
        """Name the dev splits of a task that select."""
        return task.selection_splits if self.split is None else (self.split,)

    def note(self, task: Task) -> str | None:
        """Say what selected, for a task with several dev splits or where the selection is not the default."""
        words, splits = [], self.splits_of(task)
        if (metric := self.metric_of(task)) != task.metrics[0].name:
            words.append(f"by {metric}")
        if len(task.named("dev")) > 1:
            words.append(f"on {'' if len(splits) == 1 else 'the mean over '}{', '.join(splits)}")
        if self.rule == "best":
            words.append("as the best single fit of all grid points and restarts")
        return f"selected {', '.join(words)}" if words else None


@final
@dataclass(frozen=True)
class Study:
    """A comparison of backbones x methods x tasks x grid points x seeds, which `run_study` runs."""

    backbones: tuple[str, ...]
    """Names, folders, hub ids, `run:ID` of finished fits, or `PREFIX:A,B` of several backbones as one."""
    tasks: tuple[Task, ...]
    grid: Grid = field(default_factory=Grid)
    seeds: tuple[int, ...] = (0,)
    """One restart for each seed."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Recipe fields that are set for every task, such as epochs or precision."""
    preset: NamedRecipe | None = None
    """Named recipe whose values stand between each task's recipe and `changes`; None leaves the task's recipe."""
    methods: tuple[str, ...] = ()
    """Methods for every task, which are compared if they are several; empty means each task's own method."""
    keep: str = "selected"
    """Whose weights are kept after selection: `selected`, `all` or `none`."""
    selection: Selection = field(default_factory=Selection)
    """How dev selects in every cell."""
    tests: tuple[str, ...] = ()
    """Names of labelled test splits that are scored too, in the tasks that have them. They never select."""
    limit_dev: int | None = None
    """Number of rows of each dev split that are scored, drawn as `limit_train` rows are; None is all rows. The fits
    stay as they are."""

    def __post_init__(self) -> None:
        names = [task.name for task in self.tasks]
        if not self.backbones or not self.tasks:
            raise RequestError("A study needs at least one backbone and one task.")
        if len(set(self.backbones)) != len(self.backbones) or len(set(names)) != len(names):
            raise RequestError(
                f"A study may name each backbone and each task only once, not {', '.join((*self.backbones, *names))}."
            )
        for task in self.tasks:
            if not task.named("dev"):
                raise RequestError(f"{task.name} has no split of the role 'dev' to select on.")
            self.selection.metric_of(task)  # raises an error for a metric that the task does not have
        known = list(dict.fromkeys(name for task in self.tasks for name in task.named("test")))
        for name in self.tests:
            if name not in known:
                raise UnknownName("labelled test split", name, known, where="in these tasks")
        if self.limit_dev is not None and not (type(self.limit_dev) is int and self.limit_dev > 0):
            raise RequestError(f"limit_dev must leave at least one row, not {self.limit_dev!r}.")
        if len(set(self.methods)) != len(self.methods):
            raise RequestError(f"A study may name each method only once, not {', '.join(self.methods)}.")
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise RequestError(
                f"Seeds must be different numbers, at least one, not {', '.join(map(str, self.seeds)) or 'none'}."
            )
        fits = len(self.names) * len(self.tasks) * self.grid.size * len(self.seeds)
        if fits > MOST_FITS:
            raise RequestError(
                f"A study has at most {MOST_FITS:,} fits, and this one has {shortened(fits)}: use fewer backbones, "
                "methods, tasks, grid points or restarts."
            )
        if self.keep not in ("selected", "all", "none"):
            raise RequestError(f"keep must be selected, all or none, not '{self.keep}'.")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what is compared: the backbones, or `BACKBONE (METHOD)` if the study has several methods."""
        return tuple(name for backbone in self.backbones for name in self.names_of(backbone).values())

    def names_of(self, backbone: str) -> dict[str | None, str]:
        """Map each method to the name of a backbone with this method; None stands for each task's own method."""
        if len(self.methods) < 2:
            return {next(iter(self.methods), None): backbone}
        return {method: named_by_method(backbone, method) for method in self.methods}

    def limited(self, runner: Runner) -> Runner:
        """Return a runner that reads the rows of dev which the study scores."""
        sample = "first" if self.limit_dev is None else self.changes.get("sample", "first")
        settings = replace(runner.workspace.settings, limit_dev=self.limit_dev, sample_dev=sample)
        return runner.in_workspace(replace(runner.workspace, settings=settings))

    def tests_of(self, task: Task) -> tuple[str, ...]:
        """Return the names of a task's test splits that are scored."""
        return tuple(name for name in task.named("test") if name in self.tests)

    def scored_splits(self, task: Task) -> tuple[str, ...]:
        """Return the names of all splits of a task that are scored: its dev splits, then its test splits."""
        return (*task.named("dev"), *self.tests_of(task))


def named_by_method(backbone: str, method: str) -> str:
    """Return the name of a backbone with one of the methods that are compared."""
    return f"{backbone} ({method})".strip()


@final
@dataclass(frozen=True)
class Candidate:
    """One recipe of the grid, with the fits that use it: one for each seed."""

    recipe: Recipe
    fits: tuple[Fit, ...]


@final
@dataclass(frozen=True)
class Cell:
    """The fits of one backbone on one task."""

    backbone: str
    """Name of the backbone, or of the backbone with its method: one of `Study.names`."""
    task: Task
    candidates: tuple[Candidate, ...]
    selection: Selection = field(default_factory=Selection)
    tests: tuple[str, ...] = ()
    """Names of the test splits with labels that are scored too, at the chosen grid point. They never select."""

    @property
    def fits(self) -> Iterator[Fit]:
        for candidate in self.candidates:
            yield from candidate.fits


@final
@dataclass(frozen=True)
class Spread:
    """One metric on one split over the restarts of the chosen grid point."""

    best: Score
    """Score of the selected fit. On dev it is optimistic, because the fit was chosen there."""
    mean: Score
    """Mean over the restarts: what to expect of a further restart."""
    deviation: float | None
    """Standard deviation between restarts (n - 1); None for fewer than two."""
    values: tuple[float, ...]


@final
@dataclass(frozen=True)
class CellResult:
    """The result of one backbone on one task."""

    cell: Cell
    selected: Fit | None
    """The fit that `Cell.selection` selects at the chosen grid point; None if no fit finished."""
    chosen: Recipe | None
    """The grid point that `Cell.selection` selects."""
    spreads: Mapping[Term, Spread]
    flagged: Mapping[str, int]
    """Flag -> number of fits at the chosen grid point that carry it. Flagged fits count in the mean."""
    lost: Mapping[str, str]
    """Fit id -> why the fit has no scores (diverged or failed), over all grid points."""
    notes: tuple[str, ...] = ()

    @property
    def restarts(self) -> tuple[Fit, ...]:
        """The finished fits of the chosen grid point, in the order of the seeds."""
        candidates = [candidate for candidate in self.cell.candidates if candidate.recipe == self.chosen]
        return tuple(fit for candidate in candidates[:1] for fit in candidate.fits if fit.id not in self.lost)


@final
@dataclass(frozen=True)
class Result:
    """A finished study."""

    study: Study
    cells: tuple[CellResult, ...]
    """Results of all backbones and tasks. A study file may select from the same fits by several metrics, with a cell
    for each; `of` and `averages` take the first."""
    baseline: Mapping[Term, Score]
    """Scores of the majority answer on every dev split."""
    name: str = ""
    """Name under which the study is kept in the runs folder."""
    runner: Runner | None = field(default=None, repr=False, compare=False)
    """Runner of the study, with which `rows` reads data and answers; None if the result was made without a runner."""
    predictions: Predictions | None = field(default=None, repr=False, compare=False)
    """Reads the answers of a kept study, without data and weights; None means that the runner gives the answers."""
    html: Callable[[Result], str] | None = field(default=None, repr=False, compare=False)
    """Writes the table that a notebook shows."""

    def of(self, backbone: str, task: str) -> CellResult:
        """Return the result on a task of a backbone, one of `Study.names`."""
        return next(
            result for result in self.cells if (result.cell.backbone, result.cell.task.name) == (backbone, task)
        )

    def _repr_html_(self) -> str | None:
        """Return the table of `compare`, which a notebook shows for a result."""
        return None if self.html is None else self.html(self)

    def averages(self, backbone: str) -> dict[str, tuple[float | None, float | None]]:
        """Map each average's name to its value over the best scores and over the means; None if a term is missing."""
        best, mean = dict[Term, float](), dict[Term, float]()
        for result in self.cells:
            if result.cell.backbone == backbone:
                for term, spread in result.spreads.items():
                    if spread.best.value is not None:
                        best.setdefault(term, spread.best.value)
                    if spread.mean.value is not None:
                        mean.setdefault(term, spread.mean.value)
        suites = {id(task.suite): task.suite for task in self.study.tasks if task.suite is not None}
        averages = [average for suite in suites.values() for average in suite.averages]
        return {average.name: (average.of(best), average.of(mean)) for average in averages}

    @property
    def is_complete(self) -> bool:
        """Whether every fit finished and has scores."""
        return not any(result.lost for result in self.cells)

    def to_pandas(self) -> pandas.DataFrame:
        """Return all scores as a table with a line for each backbone, task, split and metric.

        `restarts` has the score of each restart of the chosen grid point, in the order of the seeds.
        """
        import pandas

        return pandas.DataFrame(list(self._score_lines()))

    def _score_lines(self) -> Iterator[dict[str, Any]]:
        for result in self.cells:
            for term, spread in result.spreads.items():
                majority = self.baseline.get(term)
                yield {
                    "backbone": result.cell.backbone,
                    "task": term.task,
                    "split": term.split,
                    "metric": term.metric,
                    "mean": spread.mean.value,
                    "deviation": spread.deviation,
                    "best_on_dev": spread.best.value,
                    "n": len(spread.values),
                    "restarts": list(spread.values),
                    "majority": None if majority is None else majority.value,
                    "lr": None if result.chosen is None else result.chosen.lr,
                    "run": None if result.selected is None else result.selected.id,
                }

    def rows(self, task: str | None = None, split: str | None = None) -> pandas.DataFrame:
        """Return the rows of a dev split with their texts, gold, and the answers of every backbone and restart.

        `task` may be left out if the study has one task; `split` is by default the task's first dev split. The columns
        `BACKBONE seed N` have the answers of the chosen grid point, and `BACKBONE right` the share of its restarts that
        are right. This is how to see the rows that only one of two backbones gets right:
        `rows[(rows["A right"] == 1) & (rows["B right"] == 0)]`.
        """
        if self.runner is None:
            raise RequestError("This result has no runner, so its rows cannot be read: take the result of run_study.")
        chosen = self._task(task)
        fits = {backbone: self.of(backbone, chosen.name).restarts for backbone in self.study.names}
        return answered_rows(chosen, split or chosen.named("dev")[0], fits, self.runner).frame()

    def _task(self, name: str | None) -> Task:
        """Return the task of the study with this name; None means its only task."""
        names = [task.name for task in self.study.tasks]
        if name is None and len(names) > 1:
            raise RequestError(f"Say which task: this study has {', '.join(names)}.")
        matches = [task for task in self.study.tasks if name in (None, task.name, task.name.rpartition("/")[2])]
        if not matches:
            raise UnknownName("task", str(name), names, where="in this study")
        return matches[0]


def selected_fit(result: CellResult) -> Fit:
    """Return the selected fit; raise a `FitError` with the reasons if no fit finished."""
    if result.selected is None:
        reasons = "; ".join(dict.fromkeys(result.lost.values()))
        raise FitError(f"No fit of {result.cell.backbone} on {result.cell.task.name} finished: {reasons}")
    return result.selected
