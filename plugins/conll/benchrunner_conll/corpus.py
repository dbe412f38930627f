"""A corpus of phrases in column files: one row makes a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from benchrunner import OUTSIDE, PluginError, Recipe, Role, Source, Split, Suite, Tag, Task, iob_labels
from benchrunner_conll.columns import ColumnFile
from benchrunner_conll.conlleval import ConllEval, metrics

RECIPE = Recipe(lr=5e-5, epochs=3, batch_size=32, max_length=512)
"""Devlin et al. 2019 for CoNLL-2003: of the ranges they give, the middle."""
ROLES: tuple[Role, ...] = ("train", "dev", "test")


@final
@dataclass(frozen=True)
class Corpus:
    """Words of which some are phrases, each of a type. Files may be in IOB1 or IOB2, with or without document borders.

    Without borders in the files the recipe's context must be `sentence`.
    """

    name: str
    """`suite/task`, lower case."""
    about: str
    """One line for `benchrunner list`."""
    files: Mapping[str, tuple[str, ...]]
    """Split -> where its file may lie below the data folder. A split is train, dev or test, or begins so: dev_web."""
    types: tuple[str, ...]
    """The types of phrases, without B- and I-."""
    columns: tuple[str, ...] = ("words", "labels")
    """What the columns of the files are called, in their order; words and labels are among them."""
    others: Mapping[str, tuple[Source, ...]] = field(default_factory=dict)
    """Split -> what is asked for rows where there is no file."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Split -> its official number of sentences."""
    recipe: Recipe = RECIPE
    suite: Suite | None = None
    demo_files: Callable[[int, Path], None] | None = None

    def __post_init__(self) -> None:
        if strange := [kind for kind in self.types if kind == OUTSIDE or kind[:2] in ("B-", "I-")]:
            raise PluginError(f"{self.name}: types are given without O, B- and I-, so none can be '{strange[0]}'.")
        for known in (self.others, self.rows):
            if strange := [split for split in known if split not in self.files]:
                raise PluginError(f"{self.name}: there are no files of the split '{strange[0]}'.")

    @property
    def labels(self) -> tuple[str, ...]:
        """The tags: O, and B- and I- of every type."""
        return iob_labels(self.types)

    def task(self) -> Task:
        return Task(
            name=self.name,
            about=self.about,
            problem=Tag(self.labels),
            splits={split: self._split(split) for split in self.files},
            metrics=metrics(self.types),
            recipe=self.recipe,
            suite=self.suite,
            scorer=ConllEval(self.labels),
            demo_files=self.demo_files,
        )

    def _split(self, name: str) -> Split:
        role = next((role for role in ROLES if role == name.partition("_")[0]), None)
        if role is None:
            raise PluginError(f"{self.name}: a split is train, dev or test, or begins so, not '{name}'.")
        file = ColumnFile(self.files[name], self.columns)
        return Split(role, (file, *self.others.get(name, ())), self.rows.get(name))
