"""Scores: a value, or the reason why there is none."""

from collections.abc import Sequence
from typing import Any

import pytest

from benchrunner.errors import Undefined
from benchrunner.io.decoding import from_json
from benchrunner.io.json_form import as_json
from benchrunner.metrics import ANSWERS, Metric, RowSums, Score, scores
from benchrunner.metrics.metric import ACCURACY
from benchrunner_tasks import roc_auc


def test_a_figure_that_is_not_finite_is_absent() -> None:
    infinite = Metric("odd", lambda gold, predicted: float("inf"))
    assert infinite.score([1], [1]) == Score(None, "odd came out as inf")


def test_no_rows_have_no_score() -> None:
    assert ACCURACY.score([], []) == Score(None, "there are no rows to score")


def test_too_few_predictions_are_an_error() -> None:
    with pytest.raises(ValueError, match="1 predictions for 2 gold answers"):
        ACCURACY.score(["a", "b"], ["a"])


def test_predictions_without_probabilities_have_no_score() -> None:
    expected = Score(None, "roc_auc is computed from probabilities, and there are answers only")
    assert scores([roc_auc(("a", "b"))], ["a", "b"], {ANSWERS: ["a", "b"]}) == {"roc_auc": expected}


@pytest.mark.parametrize("value", [Score(0.5), Score(0.0), Score(None, "why")], ids=str)
def test_scores_survive_json(value: Score) -> None:
    assert from_json(Score, as_json(value), "score") == value


def test_metrics_of_one_compute_share_one_call() -> None:
    calls: list[tuple[list[str], list[str]]] = []

    def hits(gold: Sequence[Any], predicted: Sequence[Any]) -> int:
        calls.append((list(gold), list(predicted)))
        return sum(map(str.__eq__, gold, predicted))

    metrics = [Metric("hits", hits), Metric("half", hits, figure=lambda count: count / 2), ACCURACY]
    predictions = {ANSWERS: ["a", "c"]}
    assert scores(metrics, ["a", "b"], predictions) == {"hits": Score(1), "half": Score(0.5), "accuracy": Score(0.5)}
    assert calls == [(["a", "b"], ["a", "c"])]
    assert scores(metrics, ["a"], {ANSWERS: ["b"]})["hits"] == Score(0)  # nothing is kept from the call before


def test_one_compute_of_other_predictions_is_another_call() -> None:
    def total(gold: Sequence[Any], predicted: Sequence[Any]) -> int:
        return sum(predicted)

    metrics = [Metric("answers", total), Metric("lengths", total, computed_from="lengths")]
    found = scores(metrics, [0, 0], {ANSWERS: [1, 2], "lengths": [3, 4]})
    assert found == {"answers": Score(3), "lengths": Score(7)}


def test_a_metric_without_a_value_leaves_the_others_theirs() -> None:
    def first(gold: Sequence[Any], predicted: Sequence[Any]) -> Any:
        return predicted[0]

    def never(value: Any) -> float:
        raise Undefined("there is no such label")

    metrics = [Metric("never", first, figure=never), Metric("first", first)]
    absent = Score(None, "there is no such label")
    assert scores(metrics, [1], {ANSWERS: [1]}) == {"never": absent, "first": Score(1)}


def test_a_metric_has_its_value_without_a_task() -> None:
    assert Metric("half", lambda gold, predicted: predicted[0], figure=lambda value: value / 2).value([1], [3]) == 1.5


def test_statistics_keep_their_rows_when_a_metric_sorts_them() -> None:
    def values(gold: list[int], predicted: list[int]) -> list[list[int]]:
        gold.sort()
        predicted.sort()
        return [[1] for _ in gold]

    gold, answers = [2, 1], [1, 2]
    Metric("rude", lambda gold, predicted: len(values(gold, predicted))).value(gold, answers)
    RowSums(values, lambda sums: sums[0]).values(gold, answers)
    assert (gold, answers) == ([2, 1], [1, 2])


def test_a_metric_that_sorts_its_lists_changes_no_other_metric() -> None:
    def sorted_hits(gold: list[Any], predicted: list[Any]) -> int:
        gold.sort()
        predicted.sort()
        predicted[0].append("c")
        return len(predicted)

    gold, answers = [["b"], ["a"]], [["a"], ["b"]]
    found = scores([Metric("rude", sorted_hits), ACCURACY], gold, {ANSWERS: answers})
    assert found == {"rude": Score(2), "accuracy": Score(0)}
    assert (gold, answers) == ([["b"], ["a"]], [["a"], ["b"]])


def nothing(gold: Any, predicted: Any) -> Any:
    return None


@pytest.mark.parametrize(
    "metric",
    [
        Metric("mine", nothing),
        Metric.of_rows("mine", nothing),
        Metric("mine", lambda gold, predicted: 1, figure=lambda computed: nothing(computed, "")),
        Metric("mine", lambda gold, predicted: "0.5"),
    ],
)
def test_a_metric_without_a_number_is_blamed_at_its_line(metric: Metric) -> None:
    with pytest.raises(TypeError, match=rf"the metric 'mine' gave (None|'0.5'), not a number \({__file__}:\d+\)$"):
        metric.score([1], [1])
    with pytest.raises(TypeError, match="not a number"):
        metric.value([1], [1])
