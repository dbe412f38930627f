"""Metrics that a task file may name, and those of each problem if it names none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchrunner import ACCURACY, EXACT_MATCH, RIGHT_CHOICE, Metric, Regress, RequestError, RowSums, UnknownName
from benchrunner.engine import Problem
from benchrunner_files.kinds import KINDS
from benchrunner_kinds import Candidates, MultiLabel, Span, Tag, iob_tags
from benchrunner_submit import plugin_value
from benchrunner_tasks import (
    BALANCED_ACCURACY,
    MATTHEWS,
    PEARSON,
    SPEARMAN,
    average_precision,
    brier,
    f1,
    f1_macro,
    f1_micro,
    f1_samples,
    f1_weighted,
    log_loss,
    roc_auc,
)

if TYPE_CHECKING:
    from benchrunner.results import Plugins

Labels = Sequence[str]
_OF_LABELS: Mapping[str, Callable[[Labels], Metric]] = {
    "f1_macro": f1_macro,
    "f1_micro": f1_micro,
    "f1_weighted": f1_weighted,
    "roc_auc": roc_auc,
    "average_precision": average_precision,
}


def metrics_of(names: Sequence[str], problem: Problem, plugins: Plugins) -> tuple[Metric, ...]:
    """Return the metrics of some names, or the default metrics of the problem without names.

    Besides the names of the problem, `f1:LABEL` is the F1 of one label, `TASK:METRIC` the metric of another task and
    `PACKAGE:NAME` a metric of a plugin. What a file names is shown, also if the other task shows it on demand alone.
    """
    known = _known(problem)
    if not names:
        return tuple(known[name] for name in _defaults(problem))
    metrics = []
    for name in names:
        kind, _, rest = name.rpartition(":")
        if name in known:
            metrics.append(known[name])
        elif kind == "f1" and rest in getattr(problem, "labels", ()):
            metrics.append(f1(rest))
        elif kind and kind in plugins.tasks:
            of_task = {metric.name: metric for metric in plugins.tasks[kind].metrics}
            if rest not in of_task:
                raise UnknownName("metric", rest, of_task, where=f"of {kind}")
            metrics.append(replace(of_task[rest], detail=False))
        elif kind.isidentifier() and kind != "f1":
            metrics.append(plugin_value(name, Metric, "metrics"))
        else:
            advice = (
                "f1:LABEL is the F1 of one label, TASK:METRIC a metric of an installed task, and PACKAGE:NAME one of a "
                "plugin."
            )
            raise UnknownName("metric", name, known, advice, where=f"for the problem '{problem.name}'")
    return tuple(metrics)


def _defaults(problem: Problem) -> tuple[str, ...]:
    """Return the names of the metrics of a file that names none."""
    if isinstance(problem, Tag):
        return ("f1", "accuracy") if _is_iob(problem) else ("accuracy",)
    if isinstance(problem, Regress):
        return ("pearson", "spearman")
    if type(problem) not in {kind.problem for kind in KINDS.values()}:
        raise RequestError(
            f"name the metrics of the problem '{problem.name}', which a plugin brings: metrics = [\"accuracy\"], or "
            "PACKAGE:NAME of a plugin's metric"
        )
    return {MultiLabel: ("f1_micro", "f1_macro"), Span: ("exact_match",)}.get(type(problem), ("accuracy",))


def _known(problem: Problem) -> dict[str, Metric]:
    """Return the metrics that understand the answers of a problem, by name."""
    if isinstance(problem, Tag):
        return {"accuracy": WORD_ACCURACY, **({"f1": PHRASE_F1} if _is_iob(problem) else {})}
    if isinstance(problem, Regress):
        return {"pearson": PEARSON, "spearman": SPEARMAN}
    if isinstance(problem, Span):
        return {"exact_match": EXACT_ANSWER}
    if isinstance(problem, Candidates):
        return {"accuracy": RIGHT_CHOICE}
    labels = getattr(problem, "labels", ())
    known = {"accuracy": ACCURACY}
    if isinstance(problem, MultiLabel):
        known = {"exact_match": EXACT_MATCH, "f1_samples": f1_samples(labels)}
    elif labels:
        known |= {"matthews": MATTHEWS, "balanced_accuracy": BALANCED_ACCURACY}
        known |= {"brier": brier(labels), "log_loss": log_loss(labels)}
    if labels:
        known |= {name: make(labels) for name, make in _OF_LABELS.items()}
    return known


def _is_iob(problem: Tag) -> bool:
    return all(label == iob_tags.OUTSIDE or label[:2] in ("B-", "I-") for label in problem.labels)


def _is_right(gold: Sequence[str], predicted: str) -> float:
    """Say whether an answer is one of the gold answers; without any, whether it is empty."""
    return float(predicted in (gold or [""]))


def _counts_of_words(gold: Sequence[Any], predicted: Sequence[Any]) -> list[tuple[int, int]]:
    """Count the words with the right label, and all words, of each sentence."""
    return [(sum(map(str.__eq__, right, answer)), len(right)) for right, answer in zip(gold, predicted, strict=True)]


EXACT_ANSWER = Metric.of_rows("exact_match", _is_right)
PHRASE_F1, *_ = iob_tags.phrase_metrics()
WORD_ACCURACY = Metric.of_sums("accuracy", RowSums(_counts_of_words))
