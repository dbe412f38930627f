"""Problems whose answer to a query is a ranking: documents with scores, compared with judged documents."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchrunner import DataError, Rows, quoted
from benchrunner.engine import Problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

FORM = 'a JSON list of pairs of a document and its score, each document once, such as [["d7", 0.5], ["d2", -1.0]]'
"""How an answer looks in a file of predictions."""


class RankingProblem(Problem):
    """A query, answered by a ranking of documents.

    Column `label`, in rows that are labelled: the judged documents of the query as a list of `{"id": ..., "grade":
    ...}`, also those that cannot be found. A grade above 0 means relevant. An answer is a list of pairs of a document's
    id and its score, the highest score first; documents of equal score are in random order for the metrics.
    """

    label_columns = ("label",)

    def best_answer(self, gold: Any) -> Any:
        """Return the judged documents with their grades as scores."""
        return ranking([judged["id"] for judged in gold], [float(judged["grade"]) for judged in gold])

    def spell(self, answer: Any) -> str:
        return json.dumps(answer)

    def parse(self, text: str) -> Any:
        try:
            answer = json.loads(text)
            documents = {document for document, score in answer if isinstance(score, float | int)}
            is_ranking = isinstance(answer, list) and len(documents) == len(answer)
            is_ranking = is_ranking and all(map(_is_finite_pair, answer))
        except (ValueError, TypeError, RecursionError):
            is_ranking = False
        if not is_ranking:
            raise ValueError(FORM)
        return [[document, float(score)] for document, score in answer]

    def is_constant(self, answers: Sequence[Any]) -> bool:
        """Say whether all rankings are equal, or no query's documents have different scores."""
        is_flat = len(answers) > 1 and all(map(_is_flat, answers))
        return is_flat or super().is_constant(answers)


def _is_flat(answer: Sequence[Sequence[Any]]) -> bool:
    return len({score for _, score in answer}) < 2


def _is_finite_pair(pair: Sequence[Any]) -> bool:
    document, score = pair
    return isinstance(document, str) and type(score) is not bool and math.isfinite(score)


def ranking(documents: Sequence[str], scores: Sequence[float] | np.ndarray) -> list[list[Any]]:
    """Pair documents with their scores, the highest first; equal scores stay in the order of the documents.

    Scores that are not Python's numbers are written with the digits that tell fp32 numbers apart.
    """
    shortest = [score if isinstance(score, float) and type(score) is float else float(str(score)) for score in scores]
    pairs = [[document, score] for document, score in zip(documents, shortest, strict=True)]
    return sorted(pairs, key=lambda pair: -float(pair[1]))


def judgements(rows: Rows, documents: Sequence[Sequence[str]] | None, *, required: bool) -> list[Any] | None:
    """Return the judged documents of each row; None if they are not `required` and no row has any.

    A row may give one number for each of its `documents` instead. Raises a `DataError` that names the row.
    """
    labels = rows.labels("label", lambda label: label, required=required)
    if labels is None:
        return None
    judged = []
    for row, label in enumerate(labels):
        try:
            judged.append(_judged(label, None if documents is None else documents[row]))
        except (ValueError, TypeError, LookupError) as reason:
            expected = 'a list of {"id": text, "grade": whole number}, each id once'
            if documents is not None:
                expected += ", or a list of one grade for each candidate"
            raise DataError(f"{rows.where(row)}: label {quoted(str(label))} is not {expected}.") from reason
    return judged


def _judged(label: Any, documents: Sequence[str] | None) -> list[dict[str, Any]]:
    """Read the label of a row; an error of any kind means that the label has another form."""
    if not isinstance(label, list):
        raise TypeError
    if documents is not None and label and not isinstance(label[0], dict):
        label = [{"id": document, "grade": grade} for document, grade in zip(documents, label, strict=True)]
    judged = [{"id": part["id"], "grade": part["grade"]} for part in label]
    if len({part["id"] for part in judged}) < len(judged):
        raise ValueError
    for part in judged:
        if not isinstance(part["id"], str) or type(part["grade"]) is not int:
            raise TypeError
    return judged


def judgement_column(judged: list[Any]) -> pa.Array:
    """Return judged documents as a column."""
    import pyarrow as pa

    return pa.array(judged, pa.list_(pa.struct([("id", pa.string()), ("grade", pa.int64())])))
