"""The row of CoNLL-2003: where people keep its files, and its data set on the hub."""

from __future__ import annotations

from benchrunner import HubTable, Source, Suite
from benchrunner_conll import demo
from benchrunner_conll.corpus import Corpus

REPOSITORY, REVISION = "eriktks/conll2003", "refs/convert/parquet"
"""Its home on the hub: the main branch holds a script, which nobody runs any more, and this one the data."""
COLUMNS = {"words": "tokens", "pos": "pos_tags", "chunk": "chunk_tags", "labels": "ner_tags"}
"""Our columns -> the hub's."""
ROOTS = ("conll2003/", "conll-2003/", "conll03/", "CoNLL-2003/", "CoNLL2003/", "ner/")
"""Where people keep the files below the data folder; the last is the organizers' own."""


def _files(official: str, *usual: str) -> tuple[str, ...]:
    """The organizers' name, here and in every folder; the others could be anybody's outside of these folders."""
    return (*(f"{root}{name}" for root in ROOTS for name in (official, *usual)), official)


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
    others={"train": _hub("train"), "dev": _hub("validation"), "test": _hub("test")},
    rows={"train": 14_041, "dev": 3_250, "test": 3_453},
    suite=Suite("conll"),
    demo_files=demo.write,
)
"""Named entities in English (Tjong Kim Sang and De Meulder 2003). The test files have their labels, which are kept."""
