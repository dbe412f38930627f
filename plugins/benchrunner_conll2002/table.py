"""The two tasks: where their files may lie, and what the columns are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shutil import unpack_archive

from benchrunner import Recipe, Role, Split, Suite, Task
from benchrunner_kinds import Tag, WordColumns, iob_tags

ROOTS = ("conll2002/", "conll-2002/", "CoNLL-2002/", "ner/data/", "data/", "")
"""Folders below the data folder that are searched."""
TYPES = ("PER", "ORG", "LOC", "MISC")
ROWS = {"esp": (8_323, 1_915, 1_517), "ned": (15_806, 2_895, 5_195)}
"""Language -> the official numbers of sentences of train, testa and testb."""
NAMES = {"esp": ("es", "spanish", "Spanish", "sentence"), "ned": ("nl", "dutch", "Dutch", "window")}
"""Language -> its usual code, the task's name, the language's name, and the context: only the Dutch files say where
documents begin."""
ENCODINGS = ("utf-8", "latin-1")
"""The organizers' files are in Latin-1; some copies are in UTF-8, which a text in Latin-1 never is by chance."""
SUITE = Suite("conll2002")


def tasks() -> Iterator[Task]:
    """Yield the Spanish and the Dutch task."""
    parts: tuple[tuple[str, Role, str], ...] = (("train", "train", "train"), ("dev", "dev", "testa"))
    for code, (short, name, language, context) in NAMES.items():
        files = (*parts, ("test", "test", "testb"))
        yield Task(
            name=f"conll2002/{name}",
            about=f"Which words of the {language} news name persons, organizations, locations or something else?",
            problem=Tag(iob_tags.iob_labels(TYPES)),
            splits={
                split: Split(role, (_source(f"{code}.{file}"),), count)
                for (split, role, file), count in zip(files, ROWS[code], strict=True)
            },
            metrics=iob_tags.phrase_metrics(),
            recipe=Recipe(max_length=128, context=context),
            suite=SUITE,
            demo_files=partial(unpack_archive, Path(__file__).parent / f"demo_data/{code}.zip"),
            language=short,
        )


def _source(file: str) -> WordColumns:
    """Read the first column as words and the last as tags; Dutch files have parts of speech between them."""
    return WordColumns(
        tuple(f"{root}{file}" for root in ROOTS), {"words": 0, "labels": -1}, iob=True, encoding=ENCODINGS
    )
