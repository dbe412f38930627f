"""A corpus of tagged phrases in column files; and CoNLL-2003, with its places in the data folder and on the hub."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import unpack_archive
from typing import final

from benchrunner import PluginError, Recipe, Role, Source, Split, Suite, Task
from benchrunner_conll.column_scorer import ConllEval
from benchrunner_conll.tag_metrics import metrics
from benchrunner_kinds import Tag, WordColumns, iob_tags
from benchrunner_tasks import HubTable

RECIPE = Recipe(lr=5e-5, epochs=3, batch_size=32, max_length=128, context="window")
"""Recipe for CoNLL-2003. Devlin et al. 2019 do not give the values that they used.

Batch size and epochs are in the ranges of their A.3, and 5e-5 is the largest learning rate there. README.md says why a
sequence is a sentence with its neighbours, and why it has 128 tokens; a `max_length` of 512 is the paper's context.

Small models that have read short texts only lose 5 to 10 points of F1 by the context: for them, let dev choose between
`window` and `sentence`.
"""
ROLES: tuple[Role, ...] = ("train", "dev", "test")


@final
@dataclass(frozen=True)
class Corpus:
    """Sentences in which some words form phrases of a type. Files are in IOB1 or IOB2.

    If the files have no -DOCSTART- lines, the recipe's context must be `sentence`.
    """

    name: str
    """Name of the task: `suite/task`, lower case."""
    about: str
    """One line for `benchrunner list`."""
    files: Mapping[str, tuple[str, ...]]
    """Split -> where its file may lie below the data folder. A split is named train, dev or test, or begins with one
    of these words and an underscore: dev_web."""
    types: tuple[str, ...]
    """Types of phrases, without B- and I-."""
    columns: tuple[str, ...] = ("words", "labels")
    """Names of the files' columns, in the files' order, with words and labels among them."""
    further_sources: Mapping[str, tuple[Source, ...]] = field(default_factory=dict)
    """Split -> sources that are asked where there is no file."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Split -> its official number of sentences."""
    recipe: Recipe = RECIPE
    suite: Suite | None = None
    demo_files: Callable[[Path], None] | None = None
    """Writes a small data set in the layout of the files: (seed, folder)."""
    language: str = ""
    """Language of the sentences, as a code such as `en`."""
    licence: str = ""
    """Licence of the files, in a few words."""
    title: str = ""
    """Name of the task in papers."""

    def __post_init__(self) -> None:
        wrong = [kind for kind in self.types if kind == iob_tags.OUTSIDE or kind[:2] in ("B-", "I-")]
        if wrong:
            raise PluginError(f"{self.name}: types are given without O, B- and I-, so none can be '{wrong[0]}'.")
        if len(set(self.columns)) != len(self.columns) or not {"words", "labels"} <= set(self.columns):
            raise PluginError(
                f"{self.name}: columns need different names, with words and labels among them, not {self.columns}."
            )
        for splits in (self.further_sources, self.rows):
            unknown = [split for split in splits if split not in self.files]
            if unknown:
                raise PluginError(f"{self.name}: there are no files of the split '{unknown[0]}'.")

    @property
    def labels(self) -> tuple[str, ...]:
        """The tags: O, and B- and I- of every type."""
        return iob_tags.iob_labels(self.types)

    def task(self) -> Task:
        """Make the task of this corpus."""
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
            clusters="document",
            language=self.language,
            licence=self.licence,
            title=self.title,
        )

    def file(self, *paths: str) -> WordColumns:
        """Return the source that reads the first of these paths below the data folder.

        A file has all columns, all columns but the labels, two columns (words and labels) or one (words).
        """
        unlabelled = tuple(name for name in self.columns if name != "labels")
        return WordColumns(
            paths,
            {name: place for place, name in enumerate(self.columns)},
            iob=True,
            layouts=(self.columns, ("words", "labels"), unlabelled, ("words",)),
        )

    def _split(self, name: str) -> Split:
        role = next((role for role in ROLES if role == name.partition("_")[0]), None)
        if role is None:
            raise PluginError(f"{self.name}: expected a split that is or begins with train, dev or test, not '{name}'.")
        return Split(role, (self.file(*self.files[name]), *self.further_sources.get(name, ())), self.rows.get(name))


REPOSITORY = "eriktks/conll2003"
REVISION = "refs/convert/parquet"
"""Branch with the data; the main branch holds a script that no current library runs."""
COLUMNS = {"words": "tokens", "pos": "pos_tags", "chunk": "chunk_tags", "labels": "ner_tags"}
"""Column of the task -> column on the hub."""
ROOTS = ("conll2003/", "conll-2003/", "conll03/", "CoNLL-2003/", "CoNLL2003/", "ner/")
"""Folders below the data folder that are searched; the last is the organizers' own."""


def _files(official: str, *common: str) -> tuple[str, ...]:
    """List the searched paths of a file.

    The organizers' name is searched in the data folder too. Common names such as train.txt are searched in `ROOTS`
    only, because outside of these folders such a file may belong to other data.
    """
    paths = list[str]()
    for root in ROOTS:
        paths += [f"{root}{name}" for name in (official, *common)]
    return (*paths, official)


def _hub(split: str) -> tuple[Source, ...]:
    return (HubTable(REPOSITORY, "", split, COLUMNS, revision=REVISION),)


CONLL2003 = Corpus(
    name="conll/ner",
    title="CoNLL-2003",
    about="Which words of the news name persons, organizations, locations or something else? "
    "For small models: --set context=window,sentence",
    files={
        "train": _files("eng.train", "train.txt"),
        "dev": _files("eng.testa", "valid.txt", "dev.txt"),
        "test": _files("eng.testb", "test.txt"),
    },
    types=("PER", "ORG", "LOC", "MISC"),
    columns=("words", "pos", "chunk", "labels"),
    further_sources={"train": _hub("train"), "dev": _hub("validation"), "test": _hub("test")},
    rows={"train": 14_041, "dev": 3_250, "test": 3_453},
    suite=Suite("conll"),
    demo_files=partial(unpack_archive, Path(__file__).parent / "demo_data/conll2003.zip"),
    language="en",
    licence="research agreement of Reuters",
)
"""Named entities in English (Tjong Kim Sang and De Meulder 2003). The test file has labels, which are read."""
