"""The corpus CoNLL-2003: where its files may lie, and its data set on the hub."""

from __future__ import annotations

from benchrunner import HubTable, Source, Suite
from benchrunner_conll import demo
from benchrunner_conll.corpus import Corpus

REPOSITORY, REVISION = "eriktks/conll2003", "refs/convert/parquet"
"""Repository on the hub. Its main branch holds a script that no current library runs; this branch holds the data."""
COLUMNS = {"words": "tokens", "pos": "pos_tags", "chunk": "chunk_tags", "labels": "ner_tags"}
"""Column of the task -> column on the hub."""
ROOTS = ("conll2003/", "conll-2003/", "conll03/", "CoNLL-2003/", "CoNLL2003/", "ner/")
"""Folders below the data folder that are searched; the last is the organizers' own."""


def _files(official: str, *common: str) -> tuple[str, ...]:
    """List the searched paths of a file.

    The organizers' name is searched in the data folder too. Common names such as train.txt are searched in `ROOTS`
    only, because outside of these folders such a file may belong to other data.
    """
    return (*(f"{root}{name}" for root in ROOTS for name in (official, *common)), official)


def _hub(split: str) -> tuple[Source, ...]:
    return (HubTable(REPOSITORY, "", split, COLUMNS, revision=REVISION),)


CONLL2003 = Corpus(
    name="conll/ner",
    about="Which words of the news name persons, organizations, locations or something else?",
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
    demo_files=demo.write,
)
"""Named entities in English (Tjong Kim Sang and De Meulder 2003). The test file has labels, which are read."""
