"""A task: its data, its kind of question, its metrics, its recipe, its suite and its official scorer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from benchrunner.data.rows import Rows
from benchrunner.data.sources import DataNotFound, Source
from benchrunner.errors import BadRows, DataError, PluginError, RequestError
from benchrunner.io.identity import description_of
from benchrunner.io.messages import quoted, some_names
from benchrunner.metrics import ANSWERS, Metric, Score, scores
from benchrunner.parameters.recipes import Recipe
from benchrunner.plugin_code import guarded
from benchrunner.problems.problem import Problem
from benchrunner.tasks.row_sample import limited_rows, whole_units
from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    import pyarrow as pa

Role = Literal["train", "dev", "test"]
"""Role of a split: fits learn from train, selection looks at dev, submissions answer test."""


@dataclass(frozen=True)
class Split:
    """A named part of a task's data."""

    role: Role
    """What the split is for."""
    sources: tuple[Source, ...]
    """Sources in the order in which they are tried; the first that has the data is read."""
    rows: int | None = None
    """The official number of rows, if there is one. A note says where the data has another number."""

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            raise PluginError(f"A split's role is one of {', '.join(get_args(Role))}, not {quoted(self.role)}.")
        if not _is_tuple_of(Source, self.sources):
            raise PluginError(
                f"The sources of a split are a tuple, such as (TextTable(...),), not {quoted(self.sources)}."
            )
        if self.rows is not None and not isinstance(self.rows, int):
            raise PluginError(f"The rows of a split are their official number or None, not {quoted(self.rows)}.")


@dataclass(frozen=True)
class Term:
    """The name of a figure: which metric of which task, on which split."""

    task: str
    split: str
    metric: str


@dataclass(frozen=True)
class Average:
    """The mean over several figures, as benchmarks report it."""

    name: str
    terms: tuple[tuple[Term, ...], ...]
    """The figures. Those of an inner tuple are averaged first, for example two metrics of one task."""

    def of(self, cells: Mapping[Term, float]) -> float | None:
        """Compute the average; None if a figure is missing."""
        means = []
        for group in self.terms:
            if not all(term in cells for term in group):
                return None
            means.append(sum(cells[term] for term in group) / len(group))
        return sum(means) / len(means)


@dataclass(frozen=True)
class Suite:
    """Tasks that are reported together, and the averages over their figures."""

    name: str
    averages: tuple[Average, ...] = ()
    """Averages over figures on dev splits; tables show each under its name."""


@dataclass(frozen=True)
class Scored:
    """The figures of an official scorer for a prediction file."""

    figures: Mapping[str, Score]
    """Figures by the names that the scorer gives them, on its own scale."""
    text: str
    """The figures as text for people."""
    notes: tuple[str, ...] = ()
    """Remarks about the file that no figure shows; one sentence each, which names the file."""
    answers: Sequence[str] = ()
    """The answers of the file as texts, to flag a file that answers alike everywhere."""


class Scorer(ABC):
    """An official scorer: reads its layout of prediction files and computes its figures to the last digit."""

    options: Mapping[str, str] = {}
    """Further files that `audit --file NAME=FILE` takes: name -> what the file holds."""
    needs_gold: bool = True
    """False if prediction files hold the gold answers too; they are then checked only if the user names gold files."""

    @abstractmethod
    def recognizes(self, path: Path) -> bool:
        """Say whether a file has this layout; other files are read as `index<TAB>prediction` or one answer per line."""

    @abstractmethod
    def score(self, path: Path, gold: Rows | None, files: Mapping[str, Path]) -> Scored:
        """Compute the figures, or raise a `DataError` with file and place. `files` are those of the given options."""


@dataclass(frozen=True)
class Folds:
    """How a task is cross-validated, or which of its folds a fit is kept from."""

    whole: Task
    """The task whose training rows are divided."""
    number: int
    """Number of folds."""
    division: int = 0
    """Seed of the division."""
    held_out: int = 0
    """Number of the fold whose rows are not learned from, from 1; 0 if the fits of all folds answer together."""

    @property
    def passes(self) -> int:
        """How often the fits of all folds together learn from each row, once in every epoch."""
        return 1 if self.held_out else self.number - 1


@dataclass(frozen=True)
class Task:
    """A question about texts, with everything that is needed to fit a model to it and to score the answers."""

    name: str
    """`suite/task`, in lower case."""
    about: str
    """Description in one line, which `benchrunner list` shows."""
    problem: Problem
    """The kind of question."""
    splits: Mapping[str, Split]
    """Splits by name; exactly one has the role "train"."""
    metrics: tuple[Metric, ...]
    """The first is the headline metric, by which fits are selected."""
    recipe: Recipe = field(default_factory=Recipe)
    """Default hyper-parameters."""
    method: str = "finetune"
    """Name of the default method."""
    method_reason: str = ""
    """Why the default method is not `finetune`; shown with the task's results."""
    suite: Suite | None = None
    """The suite with whose tasks this task is reported and averaged."""
    scorer: Scorer | None = None
    """Reads prediction files in the layout of the official scorer, besides the core's own layouts."""
    demo_files: Callable[[Path], None] | None = None
    """Writes a small data set of this task in its real file layout below a folder, always with the same bytes."""
    select_on: tuple[str, ...] = ()
    """Names of the dev splits that select: the grid point and the restart with the highest mean of the headline metric
    over these splits win, and thresholds are tuned on the rows of all of them. Empty means every dev split."""
    columns: tuple[str, ...] = ()
    """Columns that are kept besides those that the problem and the metrics read, for example ids for a leaderboard. The
    rows of every split have them; a user's own questions may lack them."""
    clusters: str = ""
    """Column whose equal values mark rows that belong together, such as the questions about one article. Intervals and
    tests then speak of other articles instead of other questions; a note says where rows lack this column. Empty if
    rows are independent of each other."""
    language: str = ""
    """Language of the texts, as a code such as `en`; empty if the task does not say."""
    licence: str = ""
    """Licence of the data, in a few words; empty if the task does not say."""
    title: str = ""
    """Name of the task in papers, such as `SST-2`; empty for the part of `name` after the suite. Tables and sentences
    show a title that is a part of `name`, as of a file's task: its name has a hash."""
    only_scored: bool = False
    """True where the rows are for answers of systems that ran elsewhere: nothing learns from them, and there is no
    majority answer, although a training split is named."""
    folds: Folds | None = None
    """The folds of a task that is cross-validated, which `TASK@5` makes of another task; `load` reads all rows."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or "/" not in self.name or self.name != self.name.lower():
            raise PluginError(f"A task's name is 'suite/task' in lower case, not '{self.name}'.")
        self._check_types()
        if len(self.named("train")) != 1:
            raise PluginError(f"{self.name} needs exactly one split of the role 'train'.")
        if not self.metrics:
            raise PluginError(f"{self.name} needs at least one metric.")
        self._check_selection()

    def _check_types(self) -> None:
        """Raise a `PluginError` if a field has another type than it should; tuples are often forgotten."""
        if not isinstance(self.problem, Problem):
            raise PluginError(f"{self.name}: the problem is {quoted(self.problem)}, not a Problem.")
        if not isinstance(self.splits, Mapping) or not all(isinstance(split, Split) for split in self.splits.values()):
            raise PluginError(f"{self.name}: splits is a mapping of names to Split, not {quoted(self.splits)}.")
        if not _is_tuple_of(Metric, self.metrics):
            raise PluginError(f"{self.name}: metrics is a tuple, such as (ACCURACY,), not {quoted(self.metrics)}.")
        if not isinstance(self.recipe, Recipe):
            raise PluginError(f"{self.name}: the recipe is {quoted(self.recipe)}, not a Recipe.")
        if not isinstance(self.clusters, str):
            raise PluginError(f"{self.name}: clusters is the name of a column, not {quoted(self.clusters)}.")

    def _check_selection(self) -> None:
        if isinstance(self.select_on, str):
            raise PluginError(f"{self.name}: select_on is a tuple, such as ('{self.select_on}',), not a text.")
        dev = self.named("dev")
        if unknown := [name for name in self.select_on if name not in dev]:
            raise PluginError(
                f"{self.name}: select_on names {', '.join(map(repr, unknown))}, but its dev splits are "
                f"{', '.join(dev) or 'none'}."
            )

    @property
    def scoring(self) -> dict[str, Any]:
        """How outputs become answers and how answers are scored, as JSON: a part of the identity of predictions."""
        return {"problem": self.problem.decoded_with, "metrics": description_of(self.metrics)}

    @property
    def kept_columns(self) -> tuple[str, ...]:
        """Names of the columns that are kept besides those of the problem: `columns`, and what the metrics read."""
        names = dict.fromkeys(self.columns)
        for metric in self.metrics:
            names |= dict.fromkeys(metric.columns)
        return tuple(names)

    @property
    def selection_splits(self) -> tuple[str, ...]:
        """Names of the dev splits that select and tune: `select_on`, or every dev split if `select_on` is empty."""
        return self.select_on or tuple(self.named("dev"))

    @property
    def whole(self) -> Task:
        """The task as a plugin offers it, without folds."""
        return self.folds.whole if self.folds else self

    @property
    def train(self) -> str:
        """Name of the training split."""
        return self.named("train")[0]

    def named(self, role: Role) -> list[str]:
        """Return the names of the splits with a role, in the order of `splits`."""
        return [name for name, split in self.splits.items() if split.role == role]

    def load(self, split: str, workspace: Workspace) -> Rows:
        """Return the checked rows of a split from the first source that has the data, or raise `DataNotFound`."""
        if split not in self.splits:
            raise RequestError(f"{self.name} has no split '{split}'; it has {', '.join(self.splits)}.")
        reasons = []
        for source in self.splits[split].sources:
            what = f"The source {type(source).__name__} of {self.name}, split '{split}',"
            try:
                with guarded(what):
                    rows = source.read(workspace)
                    if not isinstance(rows, Rows):
                        raise PluginError(f"{what} returned {quoted(rows)}, not Rows.")
            except DataNotFound as reason:
                reasons.append(f"  - {reason}")
                continue
            with guarded(f"The check of the rows of {self.name}, split '{split}',"):
                return self._checked(rows, self.splits[split], workspace)
        raise DataNotFound("\n".join([f"No data for {self.name}, split {split}:", *reasons]))

    def scored(self, rows: Rows, limit: int | None) -> Rows:
        """Draw the rows of a dev split that are scored, the same for every fit, with a note that says so.

        Groups of rows that a metric scores together, such as all answers to one question, are whole.
        """
        if limit is None or limit >= len(rows):
            return rows
        if self.folds:
            raise RequestError(
                f"{self.name}: every row is answered where fits are cross-validated: leave --limit-dev out."
            )
        grouped = self._grouped
        if grouped:
            chosen = whole_units(rows, rows.units(grouped), limit)
        else:
            chosen = limited_rows(rows, self.problem, limit, seed=0)
        note = f"scored on {len(chosen):,} random rows of {len(rows):,} only (--limit-dev)"
        return replace(chosen, notes=(*chosen.notes, note), limit=len(chosen))

    @property
    def _grouped(self) -> set[tuple[str, ...]]:
        """The columns by which metrics score groups of rows together."""
        return {metric.columns for metric in self.metrics if metric.of_groups}

    def divided(self, rows: Rows, count: int, parts: str, *, seed: int = 0) -> list[list[int]]:
        """Divide rows in `count` parts of nearly equal size, and return the numbers of the rows of each part.

        Rows of a cluster, or of a group that a metric scores together, are one unit, which is in one part. Each unit
        goes to the first part with the fewest rows: large units first, and units of one label in succession. Units of
        equal size and label come in random order, so that they go to the parts in turn. `parts` says what the parts
        are; parts of another name have other rows.
        """
        from benchrunner.features.randomness import permutation

        kept_together = self._grouped
        if self.clusters in rows.table.column_names:
            kept_together.add((self.clusters,))
        units = rows.units(kept_together)
        if len(units) < count:
            raise RequestError(
                f"{self.name}: {rows.origin} has {len(units):,} row(s), or groups of rows that belong together, too "
                f"few for {count:,} {parts}."
            )
        labels = self.problem.strata(rows.table)
        ranks = permutation(len(units), seed, parts).tolist()

        def place(unit: int) -> tuple[int, str, int]:
            label = "" if labels is None else repr(labels[units[unit][0]])
            return -len(units[unit]), label, ranks[unit]

        numbers: list[list[int]] = [[] for _ in range(count)]
        for unit in sorted(range(len(units)), key=place):
            min(numbers, key=len).extend(units[unit])
        return [sorted(part) for part in numbers]

    def metric(self, name: str) -> Metric:
        """Return the metric of the task that has this name."""
        return next(metric for metric in self.metrics if metric.name == name)

    @property
    def scores_extra_figures(self) -> bool:
        """Whether a metric is computed from the problem's extra figures, such as probabilities."""
        return any(metric.computed_from != ANSWERS for metric in self.metrics)

    def scores(
        self, table: pa.Table, answers: Sequence[Any], extra_figures: Mapping[str, Sequence[Any]] | None = None
    ) -> dict[str, Score]:
        """Compute each metric of the answers to checked rows, by the metric's name; empty where rows are not labelled.

        `extra_figures` is what `Problem.extra_figures` gives. A metric that is computed from a figure which is not
        there has no score, with this reason.
        """
        gold = self.problem.gold(table)
        if gold is None:
            return {}
        return scores(self.metrics, gold, {**(extra_figures or {}), ANSWERS: answers}, table)

    def checked(self, rows: Rows, workspace: Workspace, *, labelled: bool) -> Rows:
        """Return rows that the problem has checked, without bad rows if the workspace asks to leave these out.

        Columns that the task keeps are added as they are, as far as the rows have them.
        """
        try:
            table = self._table(rows, labelled)
        except BadRows as bad:
            if not workspace.settings.leave_out_bad_rows:
                raise
            rows = rows.without(bad.rows)
            table = self._table(rows, labelled)
        for name in (*self.kept_columns, self.clusters):
            if name in rows.table.column_names and name not in table.column_names:
                table = table.append_column(name, rows.table.column(name))
        return Rows(table, rows.origin, rows.lines, rows.notes)

    def _table(self, rows: Rows, labelled: bool) -> pa.Table:
        """Let the problem check the rows; raise a `PluginError` unless it returns a table of as many rows."""
        import pyarrow as pa

        table = self.problem.check(rows, labelled=labelled)
        if not isinstance(table, pa.Table) or len(table) != len(rows):
            shown = f"a table of {len(table):,} rows" if isinstance(table, pa.Table) else quoted(table)
            raise PluginError(
                f"The problem of {self.name} checked {len(rows):,} rows and returned {shown}, where a table of as many "
                "rows was expected."
            )
        return table

    def _checked(self, rows: Rows, split: Split, workspace: Workspace) -> Rows:
        if not len(rows):
            raise DataError(f"{rows.origin}: no rows.")
        if missing := [name for name in self.columns if name not in rows.table.column_names]:
            names = some_names(rows.table.column_names)
            raise DataError(
                f"{rows.origin}: no column '{missing[0]}', which the task {self.name} needs; found {names}."
            )
        rows = self.checked(rows, workspace, labelled=split.role != "test")
        notes = rows.notes
        if workspace.settings.official_counts and split.rows is not None and len(rows) != split.rows:
            notes += (f"{len(rows):,} {split.role} rows, where the official count is {split.rows:,}",)
        if split.role == "dev" and self.clusters and self.clusters not in rows.table.column_names:
            notes += (
                f"no column '{self.clusters}', which says what rows belong together: intervals and tests take every "
                "row for independent of the others, and are too sure of themselves if it is not",
            )
        return Rows(rows.table, rows.origin, rows.lines, notes)


def _is_tuple_of(kind: type, values: object) -> bool:
    return isinstance(values, tuple | list) and all(isinstance(value, kind) for value in values)
