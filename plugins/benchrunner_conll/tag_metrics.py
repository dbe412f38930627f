"""Metrics of tagged phrases: conlleval's figures, and the F1 of well-formed phrases alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchrunner import Metric, RowSums, Undefined
from benchrunner_conll.conlleval import Evaluation, Tags, evaluate


def metrics(types: Sequence[str]) -> tuple[Metric, ...]:
    """Make the metrics of a corpus with these types of phrases, as fractions; tables show them as conlleval does.

    The headline is F1 over all types. F1 of each type and `strict_f1` are details. All figures of conlleval are read
    from one evaluation.
    """
    return (
        _metric("f1", lambda evaluation: evaluation.overall.f1, _F1),
        _metric("precision", lambda evaluation: evaluation.overall.precision, _PRECISION),
        _metric("recall", lambda evaluation: evaluation.overall.recall, _RECALL),
        _metric("accuracy", lambda evaluation: evaluation.accuracy, _ACCURACY),
        *(_f1_of_type(kind) for kind in types),
        Metric("strict_f1", strict_f1, detail=True),
    )


def _metric(
    name: str, figure: Callable[[Evaluation], float], row_sums: RowSums | None = None, *, detail: bool = False
) -> Metric:
    def fraction(evaluation: Evaluation) -> float:
        return figure(evaluation) / 100

    return Metric(name, evaluate, figure=fraction, detail=detail, row_sums=row_sums)


def _counts_of_sentences(gold: Tags, predicted: Tags) -> list[tuple[int, ...]]:
    """Count correct, gold and found phrases, and correct and all tokens, of each sentence."""
    counts: list[tuple[int, ...]] = []
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        evaluation = evaluate([gold_tags], [predicted_tags])
        phrases = evaluation.overall
        tokens = (evaluation.correct_tokens, evaluation.tokens)
        counts.append((phrases.correct, phrases.gold, phrases.found, *tokens))
    return counts


def _fraction(numerators: Any, denominators: Any) -> Any:
    """Divide sums; 0 where the denominator is 0, as in the script."""
    import numpy as np

    return np.where(denominators > 0, numerators / np.maximum(denominators, 1), 0.0)


_F1 = RowSums(_counts_of_sentences, lambda sums: _fraction(2 * sums[0], sums[1] + sums[2]))
_PRECISION = RowSums(_counts_of_sentences, lambda sums: _fraction(sums[0], sums[2]))
_RECALL = RowSums(_counts_of_sentences, lambda sums: _fraction(sums[0], sums[1]))
_ACCURACY = RowSums(_counts_of_sentences, lambda sums: _fraction(sums[3], sums[4]))


def _f1_of_type(kind: str) -> Metric:
    def figure(evaluation: Evaluation) -> float:
        if kind not in evaluation.types:
            raise Undefined(f"no phrase of the type {kind} was there or was predicted")
        return evaluation.types[kind].f1

    return _metric(f"f1_{kind}", figure, detail=True)


def strict_f1(gold: Tags, predicted: Tags) -> float:
    """Compute the F1, a fraction, of the package seqeval in its strict IOB2 mode.

    Only well-formed phrases count: a phrase begins with B- and goes on with I- of the same type. conlleval repairs an
    I- tag that continues no phrase: a new phrase begins there. The strict mode drops such a tag. The two figures are
    equal where all predicted tags are well-formed, so their difference shows the effect of ill-formed predictions.
    """
    from seqeval.metrics import f1_score
    from seqeval.scheme import IOB2

    score: Any = f1_score(gold, predicted, mode="strict", scheme=IOB2, zero_division=0)
    return float(score)
