"""WikiANN's words and its F1: the language's name before each word, and phrases as seqeval counts them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from benchrunner import Metric, RowSums

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Tags = Sequence[str]


def without_prefix(language: str, table: pa.Table) -> pa.Table:
    """Remove the language's name and a colon from each word if all words of the file begin so: "en:Paris"."""
    import pyarrow as pa

    prefix = f"{language}:"
    sentences: list[list[str]] = table.column("words").to_pylist()
    for words in sentences:
        if not all(word.startswith(prefix) for word in words):
            return table
    bare = [_removed(prefix, words) for words in sentences]
    place = table.column_names.index("words")
    return table.set_column(place, "words", pa.array(bare, pa.list_(pa.string())))


def _removed(prefix: str, words: Iterable[str]) -> list[str]:
    return [word.removeprefix(prefix) for word in words]


def counts(gold: Iterable[Tags], predicted: Iterable[Tags]) -> list[tuple[int, int, int]]:
    """Count the right phrases, the phrases of gold and the predicted phrases of each sentence."""
    from seqeval.metrics.sequence_labeling import get_entities

    rows = []
    for gold_tags, tags in zip(gold, predicted, strict=True):
        right, found = set(get_entities(list(gold_tags))), set(get_entities(list(tags)))
        rows.append((len(right & found), len(right), len(found)))
    return rows


def _metric(name: str, *parts: int, detail: bool = False) -> Metric:
    def figure(sums: np.ndarray) -> np.ndarray:
        """Divide the right phrases by the mean of the other sums; 0 where there are none, as seqeval does."""
        import numpy as np

        whole = sums[list(parts)].mean(axis=0)
        return np.where(whole > 0, sums[0] / np.where(whole > 0, whole, 1), 0.0)

    return Metric.of_sums(name, RowSums(counts, figure), detail=detail)


SPAN_METRICS = (_metric("f1", 1, 2), _metric("precision", 2, detail=True), _metric("recall", 1, detail=True))
"""F1, precision and recall over phrases of all types (micro average): the same words with the same type.

Tables show F1 alone, so that each language is a line.
"""
