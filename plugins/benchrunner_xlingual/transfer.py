"""A benchmark of cross-lingual transfer: learn from the rows of one language, answer the rows of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from benchrunner import Average, Metric, PluginError, Recipe, Role, Source, Split, Suite, Task, Term
from benchrunner.engine import Problem

ROLES: tuple[Role, ...] = ("train", "dev", "test")
Counts = tuple[int, int, int]
"""Numbers of rows of train, dev and test."""


@final
@dataclass(frozen=True)
class Transfer:
    """A benchmark with the same question in several languages; one of them is learned from."""

    name: str
    """Name of the task, lower case: the language that fits learn from, and the benchmark, such as `en/xnli`."""
    about: str
    """One line for `benchrunner list`."""
    problem: Problem
    metrics: tuple[Metric, ...]
    """Metrics of each language, the headline first; the averages are over the headline."""
    sources: Callable[[Role, str], tuple[Source, ...]]
    """Takes a role and a language, and returns the sources of the split."""
    languages: tuple[str, ...]
    """Languages that are answered, as files and tables name them."""
    train_language: str
    """Language that fits learn from. Its dev split alone selects."""
    recipe: Recipe
    rows: Mapping[str, Counts] = field(default_factory=dict)
    """Language -> its official numbers of rows."""
    clusters: str = ""
    """Column whose equal values mark rows that belong together."""
    demo_files: Callable[[Path], None] | None = None
    """Writes a small data set in the layout of the files, below a folder."""
    licence: str = ""
    """Licence of the data, in a few words."""

    def __post_init__(self) -> None:
        if len(set(self.languages)) != len(self.languages):
            raise PluginError(f"{self.name}: languages name a language twice: {', '.join(self.languages)}.")
        if self.train_language not in self.languages:
            raise PluginError(
                f"{self.name}: the language that fits learn from, '{self.train_language}', selects by its dev split, "
                f"so it must be one of the languages {', '.join(self.languages)}."
            )

    def task(self, suite: Suite | None = None) -> Task:
        """Make the task. Without `suite`, it gets a suite of its own, which shows its two averages."""
        places: list[tuple[str, Role, str]] = [("train", "train", self.train_language)]
        for role in ROLES[1:]:
            places += [(f"{role}_{language}", role, language) for language in self.languages]
        return Task(
            name=self.name,
            about=self.about,
            problem=self.problem,
            splits={name: self._split(role, language) for name, role, language in places},
            metrics=self.metrics,
            recipe=self.recipe,
            suite=suite or Suite(self.name.partition("/")[0], self.averages),
            demo_files=self.demo_files,
            select_on=(f"dev_{self.train_language}",),
            clusters=self.clusters,
            language=self.train_language[:2],
            licence=self.licence,
        )

    @property
    def averages(self) -> tuple[Average, Average]:
        """The means of the headline metric over the languages, on dev and on test; shown where all are scored."""
        return self._average("dev"), self._average("test")

    def _average(self, role: Role) -> Average:
        metric = self.metrics[0].name
        terms = tuple((Term(self.name, f"{role}_{language}", metric),) for language in self.languages)
        return Average(f"{self.name}, mean of {len(terms)} languages ({role})", terms)

    def _split(self, role: Role, language: str) -> Split:
        counts = self.rows.get(language)
        rows = None if counts is None else counts[ROLES.index(role)]
        return Split(role, self.sources(role, language), rows)
