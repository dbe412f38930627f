"""Cells of a study: the fits of one system on one task, what selects among them, and the figures that come out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, final

from benchrunner.errors import FitError, RequestError
from benchrunner.fits.fit import Fit
from benchrunner.io.json_form import WHEN_GIVEN
from benchrunner.metrics import Metric, Score
from benchrunner.parameters.grids import Grid, NamedRecipe
from benchrunner.parameters.recipes import Recipe
from benchrunner.runs.predicting import Predicted
from benchrunner.runs.runner import Runner
from benchrunner.studies.codes import OF_DATA, code_of
from benchrunner.studies.intervals import Interval, restart_interval
from benchrunner.studies.predictions import Predictions
from benchrunner.tasks.task import Task, Term

CellKey = tuple[str, tuple[str, ...]]
"""Names of a cell's system and columns."""
SELECT = ("mean", "best")
"""Values of a selection's `rule`."""
KEEP = ("selected", "all", "none")
"""Values of `Fitting.keep`."""
ABSENT = "-"
"""What tables show in place of a figure that is not there."""
LOST, NO_SCORE = "some fits have no scores", "a score is absent"
"""What is said of lost fits and absent scores."""
SEALED = "the answers are kept, and whoever has the labels scores them"
"""What is said of the answers to a test split without labels."""


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
        """Name the dev splits of a task that select; raise a `RequestError` for a split that is none of them."""
        if self.split is None:
            return task.selection_splits
        if self.split not in (dev := task.named("dev")):
            raise RequestError(f"{task.name} cannot select on '{self.split}'; its dev splits are {', '.join(dev)}.")
        return (self.split,)

    def note(self, task: Task) -> str | None:
        """Say what selected, for a task with several dev splits or where the selection is not the default."""
        words = []
        splits = self.splits_of(task)
        metric = self.metric_of(task)
        if metric != task.metrics[0].name:
            words.append(f"by {metric}")
        if len(task.named("dev")) > 1:
            words.append(f"on {'' if len(splits) == 1 else 'the mean over '}{', '.join(splits)}")
        if self.rule == "best":
            words.append("as the best single fit of all grid points and restarts")
        return f"selected {', '.join(words)}" if words else None


@final
@dataclass(frozen=True)
class PointChoice:
    """What chooses the grid points of a cell that are trained."""

    by: str
    """The way of choosing in words, such as `halving` or `early stop 2`."""
    options: Mapping[str, Any]
    """Values of parameters of `StudySearch`, by their names."""
    most: int | None = field(default=None, metadata=WHEN_GIVEN)
    """Number of grid points that are trained at most, each alone. None is a choice among trainings of several lengths,
    which go on from shorter ones."""


@final
@dataclass(frozen=True)
class Fitting:
    """How fits are made: grid points x seeds, which weights are kept, and how many rows of dev are scored."""

    grid: Grid = field(default_factory=Grid)
    seeds: tuple[int, ...] = (0,)
    """One restart for each seed."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Recipe fields that are set for every task, such as epochs or precision."""
    preset: NamedRecipe | None = None
    """Named recipe whose values stand between each task's recipe and `changes`; None leaves the task's recipe."""
    keep: str = "selected"
    """Whose weights are kept after selection: `selected`, `all` or `none`."""
    looks: tuple[int, ...] = field(default=(), metadata=WHEN_GIVEN)
    """Numbers of restarts after which comparisons are looked at, the last for all seeds; restarts are added where one
    is not clear yet. The restarts of the first look select the grid point, which alone gets more. Empty for a study
    that has all restarts at once."""
    search: PointChoice | None = field(default=None, metadata=WHEN_GIVEN)
    """What chooses the grid points that are trained; None trains all."""

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise RequestError(
                f"Seeds must be different numbers, at least one, not {', '.join(map(str, self.seeds)) or 'none'}."
            )
        if self.keep not in KEEP:
            raise RequestError(f"keep must be selected, all or none, not '{self.keep}'.")
        looks = list(self.looks)
        if looks and (len(looks) < 2 or looks[0] < 2 or sorted(set(looks)) != looks or looks[-1] != len(self.seeds)):
            raise RequestError(
                "until-clear names two or more numbers of restarts, from 2 up and in ascending order, such as 3,6,12, "
                f"not {','.join(map(str, looks))} with {len(self.seeds)} seeds."
            )

    @property
    def first_seeds(self) -> tuple[int, ...]:
        """The seeds of the restarts with which a study begins, which select the grid point."""
        return self.seeds[: self.looks[0]] if self.looks else self.seeds

    @property
    def most_points(self) -> int | None:
        """`PointChoice.most`; None without a search as well."""
        return self.search.most if self.search else None

    @property
    def looks_note(self) -> str:
        """What a reader must know of a study with looks."""
        return f"restarts were added until clear: looks at {', '.join(map(str, self.looks))}; corrected for this"

    @property
    def but_for_rows(self) -> Fitting:
        """These settings without the number of training rows, in which the points of a learning curve differ."""
        return replace(self, changes={name: value for name, value in self.changes.items() if name != "limit_train"})


@final
@dataclass(frozen=True)
class Candidate:
    """One recipe of the grid, with the fits that use it: one for each seed."""

    recipe: Recipe
    fits: tuple[Fit, ...]
    rows: int | None = None
    """Number of training rows that each fit learns from; None if they were not counted."""


@final
@dataclass(frozen=True)
class Cell:
    """The fits of one system on one task, from which one or several columns take their figures."""

    system: str
    """Name of the system."""
    task: Task
    candidates: tuple[Candidate, ...] = ()
    """The grid points; empty until the fits are planned."""
    selection: Selection = field(default_factory=Selection)
    tests: tuple[str, ...] = ()
    """Names of the test splits that are answered too, at the chosen grid point. They never select."""
    backbone: str = ""
    """Name, folder, hub id, or `run:ID` of a finished fit."""
    method: str | None = None
    """None means the task's own method."""
    fitting: Fitting = field(default_factory=Fitting)
    columns: tuple[str, ...] = ()
    """Names of the columns; empty for a task on which the system is fine-tuned first."""
    skips_first: bool = False
    """Whether the fits start from the backbone itself, although the system is fine-tuned on a first task."""

    @property
    def key(self) -> CellKey:
        """What tells the cell from the other cells of its study."""
        return self.system, self.columns

    @property
    def fits(self) -> Iterator[Fit]:
        for candidate in self.candidates:
            yield from candidate.fits

    def of_points(self, points: Collection[Recipe]) -> Cell:
        """Return the cell with some of its grid points alone."""
        return replace(self, candidates=tuple(point for point in self.candidates if point.recipe in points))

    @property
    def scored_splits(self) -> tuple[str, ...]:
        """Names of all splits that are scored: the dev splits, then the test splits."""
        return (*self.task.named("dev"), *self.tests)


def different_fits(cells: Iterable[Cell]) -> list[Fit]:
    """List the fits of all cells, each once."""
    return list({fit.id: fit for cell in cells for fit in cell.fits}.values())


@final
@dataclass(frozen=True)
class Figure:
    """A figure of a system over the restarts of the chosen grid point, with its scale."""

    best: Score
    """Score of the selected fit. On dev it is optimistic, because the fit was chosen there."""
    mean: Score
    """Mean over the restarts: what to expect of a further restart."""
    deviation: float | None = None
    """Standard deviation between restarts (n - 1); None for fewer than two."""
    values: tuple[float, ...] = ()
    scale: float = 1.0
    """Factor by which tables multiply the figure, see `Metric.scale`."""
    decimals: int = 1
    """Digits after the point in tables."""
    members: tuple[str, ...] = ()
    """Ids of the fits that answered together; empty if each answered alone."""
    limits: tuple[float, float] | None = field(default=None, metadata=WHEN_GIVEN)
    """See `Metric.limits`."""
    lower_is_better: bool = field(default=False, metadata=WHEN_GIVEN)

    @classmethod
    def single(cls, value: float) -> Figure:
        """Make a figure of one value."""
        return cls(Score(value), Score(value), values=(value,))

    @classmethod
    def absent(cls, reason: str) -> Figure:
        """Return a figure that has no value, for a reason."""
        return cls(Score(None, reason), Score(None, reason))

    def measured_by(self, metric: Metric) -> Figure:
        """Return the figure as tables show the values of a metric."""
        return replace(self, scale=metric.scale, decimals=metric.decimals, lower_is_better=metric.lower_is_better)

    def gain(self, value: float) -> float:
        """Return a value of the figure so that more is better."""
        return -value if self.lower_is_better else value

    @property
    def over_restarts(self) -> Interval | None:
        """Interval of the mean over other restarts, for these examples; None if there are too few."""
        return None if self.mean.value is None else restart_interval(self.values, limits=self.limits)

    def shown(self, value: float | None) -> float | None:
        """Return a value of the figure on the scale of tables."""
        return None if value is None else value * self.scale

    def text(self, value: float | None) -> str:
        """Write a value of the figure as tables show it."""
        return ABSENT if value is None else f"{value * self.scale:.{self.decimals}f}"

    def interval_text(self, interval: Interval | None) -> str:
        """Write an interval of the figure; nothing if there is none."""
        return "" if interval is None else f"[{self.text(interval.low)}, {self.text(interval.high)}]"

    @property
    def mean_text(self) -> str:
        """The mean with its deviation."""
        mean = self.text(self.mean.value)
        return mean if self.deviation is None else f"{mean} ± {self.text(self.deviation)}"


@final
@dataclass(frozen=True)
class CellResult:
    """The result of one cell of a study: its selected fit, and its figures over restarts."""

    cell: Cell
    selected: Fit | None
    """The fit that `Cell.selection` selects at the chosen grid point; None if no fit finished."""
    chosen: Recipe | None
    """The grid point that `Cell.selection` selects."""
    figures: Mapping[Term, Figure]
    """The figure of every metric on every scored split."""
    flagged: Mapping[str, int]
    """Flag -> number of fits at the chosen grid point that carry it. Flagged fits count in the mean."""
    lost: Mapping[str, str]
    """Fit id -> why the fit has no scores (diverged or failed), over all grid points."""
    notes: tuple[str, ...] = ()
    runner: Runner | None = field(default=None, repr=False, compare=False)
    """Reads the rows that the cell scores; None if the result was made without a runner."""
    predictions: Predictions | None = field(default=None, repr=False, compare=False)
    """Gives the kept answers of the cell's fits, without data and weights."""
    scores: Mapping[Recipe, float] = field(default_factory=dict, repr=False, compare=False)
    """Grid point -> its score on dev, by which it was selected or not; minus infinity if no fit of it finished."""

    @cached_property
    def chosen_fits(self) -> tuple[Fit, ...]:
        """All fits of the chosen grid point, in the order of the seeds."""
        for candidate in self.cell.candidates:
            if candidate.recipe == self.chosen:
                return candidate.fits
        return ()

    @cached_property
    def restarts(self) -> tuple[Fit, ...]:
        """The finished fits of the chosen grid point, in the order of the seeds."""
        return tuple(fit for fit in self.chosen_fits if fit.id not in self.lost)

    @cached_property
    def is_random(self) -> bool:
        """Whether other seeds give other fits, as far as the method is known."""
        return self.runner is None or any(
            self.runner.plugins.methods.find(fit.method).is_random for fit in self.restarts
        )

    @property
    def collapsed(self) -> int:
        """The number of fits of the chosen grid point that have no score, or learned nothing, as a flag says."""
        lost = len(self.chosen_fits) - len(self.restarts)
        return lost + max(self.flagged.values(), default=0)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the figures must know: flags of the restarts, absent scores and lost fits."""
        warnings = []
        for flag, count in self.flagged.items():
            if count:
                warnings.append(flag if count == len(self.restarts) else f"{flag} in some restarts")
        if not self.figures or any(figure.mean.value is None for figure in self.figures.values()):
            warnings.append(NO_SCORE)
        if self.lost:
            warnings.append(LOST)
        warnings += [note for note in self.notes if code_of(note).startswith(OF_DATA)]
        return tuple(warnings)

    @property
    def limits(self) -> tuple[str, ...]:
        """What a reader must know where rows were left out: how many rows the fits learned from or were scored on."""
        limits = []
        if self.chosen is not None and self.chosen.limit_train is not None:
            limits.append(f"limited to {self.chosen.limit_train} random training rows")
        if self.runner is not None and self.runner.workspace.settings.limit_dev is not None:
            limits.append(f"scored on {self.runner.workspace.settings.limit_dev} rows of dev")
        return tuple(limits)

    def predicted(self, fit: Fit, split: str) -> Predicted:
        """Return the answers of one of the cell's fits to a split, with scores; raise a `FitError` if none are kept."""
        if self.predictions is None:
            raise FitError(
                f"The answers of the fit {fit.id} to {split} cannot be read: this result was made without a runner. "
                "Take the result of run_study or read_study."
            )
        return self.predictions.predict(fit, split)


def selected_fit(result: CellResult) -> Fit:
    """Return the selected fit; raise a `FitError` with the reasons if no fit finished."""
    if result.selected is None:
        reasons = "; ".join(dict.fromkeys(result.lost.values()))
        raise FitError(f"No fit of {result.cell.system} on {result.cell.task.name} finished: {reasons}")
    return result.selected
