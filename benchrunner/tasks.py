"""The row of a task: its data, its kind of question, its metrics, its recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchrunner.errors import BadRows, DataError, PluginError, RequestError
from benchrunner.metrics import Metric, Score, score
from benchrunner.places import Places
from benchrunner.recipes import Recipe
from benchrunner.sources import NotThere, Rows, Source

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.problems import Problem
    from benchrunner.scoring import Scorer

Role = Literal["train", "dev", "test"]


@dataclass(frozen=True)
class Split:
    """One named part of a task's data."""

    role: Role
    """What it is for: fits learn from train, selection looks at dev, submissions answer test."""
    sources: tuple[Source, ...]
    """Asked in this order; the first that has the rows gives them."""
    rows: int | None = None
    """The official count, where there is one; a difference is said, not hidden."""


@dataclass(frozen=True)
class Term:
    """One figure inside an average: a task's metric on a split."""

    task: str
    split: str
    metric: str


@dataclass(frozen=True)
class Average:
    """A mean over terms; figures in one inner tuple are averaged first."""

    name: str
    terms: tuple[tuple[Term, ...], ...]

    def on(self, splits: Mapping[str, str]) -> Average:
        """The same average over other splits: `{"dev": "test"}` is what a leaderboard takes. Others stay."""

        def moved(term: Term) -> Term:
            return replace(term, split=splits.get(term.split, term.split))

        return replace(self, terms=tuple(tuple(moved(term) for term in group) for group in self.terms))

    def of(self, cells: Mapping[Term, float]) -> float | None:
        """The average, or None where a figure is missing."""
        if any(term not in cells for group in self.terms for term in group):
            return None
        means = [sum(cells[term] for term in group) / len(group) for group in self.terms]
        return sum(means) / len(means)


@dataclass(frozen=True)
class Suite:
    """Tasks that are reported together, and the averages that are taken over them."""

    name: str
    averages: tuple[Average, ...] = ()
    """Over dev splits; each is printed under its own name."""


@dataclass(frozen=True)
class Task:
    """A question asked of text, with everything needed to fit and score an answer to it."""

    name: str
    """`suite/task`, lower case."""
    about: str
    """One line for `benchrunner list`."""
    problem: Problem
    splits: Mapping[str, Split]
    metrics: tuple[Metric, ...]
    """The first is the headline: what selection looks at."""
    recipe: Recipe = field(default_factory=Recipe)
    method: str = "finetune"
    method_reason: str = ""
    """Why the default method is not `finetune`, said wherever the task is shown."""
    suite: Suite | None = None
    scorer: Scorer | None = None
    """Reads prediction files in the layout that the official scorer reads, beside our own; None where there is none."""
    demo_files: Callable[[int, Path], None] | None = None
    """Writes a small data set of this task in its real file layout: (seed, folder)."""

    def __post_init__(self) -> None:
        if not self.name or "/" not in self.name or self.name != self.name.lower():
            raise PluginError(f"A task's name is 'suite/task' in lower case, not '{self.name}'.")
        if [split.role for split in self.splits.values()].count("train") != 1:
            raise PluginError(f"{self.name} needs exactly one split of the role 'train'.")
        if not self.metrics:
            raise PluginError(f"{self.name} needs at least one metric.")

    @property
    def train(self) -> str:
        """The name of the training split."""
        return self.named("train")[0]

    def named(self, role: Role) -> list[str]:
        """The names of the splits of one role, in the order of the row."""
        return [name for name, split in self.splits.items() if split.role == role]

    def load(self, split: str, places: Places) -> Rows:
        """The checked rows of a split from the first of its sources that has them."""
        if split not in self.splits:
            raise RequestError(f"{self.name} has no split '{split}'; it has {', '.join(self.splits)}.")
        wanted = self.splits[split]
        tried = []
        for source in wanted.sources:
            try:
                rows = source.read(places)
            except NotThere as reason:
                tried.append(str(reason))
                continue
            return self._checked(rows, wanted, places)
        raise NotThere(f"No data for {self.name}, split {split}:\n" + "\n".join(f"  - {one}" for one in tried))

    def scores(self, table: pa.Table, answers: Sequence[Any]) -> dict[str, Score]:
        """Each metric of answers to checked rows; none where these are not labelled."""
        gold = self.problem.gold(table)
        return {} if gold is None else {one.name: score(one, gold, answers) for one in self.metrics}

    def checked(self, rows: Rows, places: Places, *, labelled: bool) -> Rows:
        """Rows as the problem wants them, without bad ones where the user asked for that."""
        try:
            table = self.problem.check(rows, labelled=labelled)
        except BadRows as bad:
            if not places.leave_out:
                raise
            rows = rows.without(bad.rows)
            table = self.problem.check(rows, labelled=labelled)
        return Rows(table, rows.origin, rows.lines, rows.notes)

    def _checked(self, rows: Rows, split: Split, places: Places) -> Rows:
        if not len(rows):
            raise DataError(f"{rows.origin}: no rows.")
        rows = self.checked(rows, places, labelled=split.role != "test")
        notes = rows.notes
        if places.official and split.rows is not None and len(rows) != split.rows:
            notes += (f"{len(rows):,} rows, where the official count is {split.rows:,}",)
        return Rows(rows.table, rows.origin, rows.lines, notes)
