"""The two tasks: where their files may lie, what the columns are, and F1 of phrases as conlleval counts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from shutil import unpack_archive
from typing import TYPE_CHECKING

from benchrunner import Metric, Recipe, Role, RowSums, Split, Suite, Task
from benchrunner_kinds import Tag, WordColumns, iob_tags

if TYPE_CHECKING:
    import numpy as np

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


Tags = Sequence[str]
Phrase = tuple[int, int, str]
"""The first word of a phrase, the word after its last, and its type."""


def phrases(tags: Tags) -> set[Phrase]:
    """Read the phrases of a sentence from its tags. An I- tag that continues no phrase begins one."""
    found = set[Phrase]()
    for begin, (before, tag) in enumerate(pairwise([iob_tags.OUTSIDE, *tags])):
        if iob_tags.begins_phrase(before, tag):
            found.add((begin, _end(tags, begin), tag[2:]))
    return found


def _end(tags: Tags, begin: int) -> int:
    """Return the word after the last of the phrase that begins at a word."""
    for at in range(begin + 1, len(tags)):
        if tags[at] == iob_tags.OUTSIDE or iob_tags.begins_phrase(tags[at - 1], tags[at]):
            return at
    return len(tags)


def counts(gold: Iterable[Tags], predicted: Iterable[Tags]) -> list[tuple[int, int, int]]:
    """Count the right phrases, the phrases of gold and the predicted phrases of each sentence."""
    pairs = ((phrases(right), phrases(answer)) for right, answer in zip(gold, predicted, strict=True))
    return [(len(right & answer), len(right), len(answer)) for right, answer in pairs]


def _metric(name: str, *parts: int) -> Metric:
    def figure(sums: np.ndarray) -> np.ndarray:
        """Divide the right phrases by the mean of other sums; 0 where there are none, as in the script."""
        import numpy as np

        whole = sums[list(parts)].mean(axis=0)
        return np.where(whole > 0, sums[0] / np.where(whole > 0, whole, 1), 0.0)

    return Metric.of_sums(name, RowSums(counts, figure))


METRICS = (_metric("f1", 1, 2), _metric("precision", 2), _metric("recall", 1))
"""F1, precision and recall over phrases of all types: the same words with the same type."""


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
            metrics=METRICS,
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
