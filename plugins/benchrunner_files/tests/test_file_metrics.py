"""Metrics of task files: phrases and words against other implementations, and which are the defaults."""

from __future__ import annotations

import random

import pytest

import benchrunner_glue
from benchrunner import Classify, Metric, Regress, UnknownName
from benchrunner.results import Plugins
from benchrunner_conll.conlleval import evaluate
from benchrunner_files.kinds import KINDS
from benchrunner_files.metrics import EXACT_ANSWER, PHRASE_F1, WORD_ACCURACY, metrics_of
from benchrunner_kinds import MultiLabel, Span, Tag

TAGS = ("O", "B-X", "I-X", "B-Y", "I-Y")


def test_phrases_are_counted_as_by_conlleval() -> None:
    draw = random.Random(0)
    gold = [draw.choices(TAGS, k=draw.randint(1, 9)) for _ in range(300)]
    found = [[draw.choice((tag, *TAGS)) for tag in sentence] for sentence in gold]
    official = evaluate(gold, found)
    assert PHRASE_F1.value(gold, found) * 100 == pytest.approx(official.overall.f1)
    assert WORD_ACCURACY.value(gold, found) * 100 == pytest.approx(official.accuracy)
    assert PHRASE_F1.value([["O"]], [["O"]]) == 0


def test_an_answer_is_one_of_the_gold_answers_or_empty() -> None:
    assert EXACT_ANSWER.value([["me", "I"], ["you"], []], ["I", "me", ""]) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("problem", "names"),
    [
        (Classify(("a", "b")), ["accuracy"]),
        (Regress(0, 5), ["pearson", "spearman"]),
        (MultiLabel(("a", "b")), ["f1_micro", "f1_macro"]),
        (Span(), ["exact_match"]),
        (Tag(TAGS), ["f1", "accuracy"]),
        (Tag(("NOUN", "VERB")), ["accuracy"]),
    ],
)
def test_every_problem_has_default_metrics(problem: object, names: list[str], plugins: Plugins) -> None:
    assert [metric.name for metric in metrics_of([], problem, plugins)] == names  # type: ignore[arg-type]


def test_a_metric_of_a_plugin_or_another_task_is_shown(plugins: Plugins, monkeypatch: pytest.MonkeyPatch) -> None:
    mae = Metric.of_rows("mae", lambda gold, answer: abs(gold - answer), lower_is_better=True)
    monkeypatch.setattr(benchrunner_glue, "MAE", mae, raising=False)
    names = ["benchrunner_glue:MAE", "ranking/wikiqa:ndcg@10"]
    of_plugin, of_task = metrics_of(names, Classify(("0", "1")), plugins)
    assert of_plugin is mae
    assert of_task.name == "ndcg@10" and not of_task.detail  # WikiQA itself shows it with --metrics all
    assert plugins.tasks["ranking/wikiqa"].metrics[2].detail


def test_losses_are_metrics_of_one_label_for_each_row(plugins: Plugins) -> None:
    names = ["brier", "log_loss"]
    found = metrics_of(names, Classify(("a", "b")), plugins)
    assert [metric.value(["a"], [[0.5, 0.5]]) for metric in found] == pytest.approx([0.5, 0.693], abs=1e-3)
    with pytest.raises(UnknownName, match="brier"):
        metrics_of(names, MultiLabel(("a", "b")), plugins)


@pytest.mark.parametrize("name", KINDS)
def test_the_columns_are_those_that_the_problem_documents(name: str) -> None:
    """A problem names its columns in its docstring, some in that of its base class."""
    documented = "".join(base.__doc__ or "" for base in KINDS[name].problem.__mro__ if base is not object)
    for column in KINDS[name].columns.keys() - KINDS[name].problem.label_columns:
        assert f"`{column}`" in documented, column
    assert set(KINDS[name].problem.label_columns) <= KINDS[name].columns.keys()  # type: ignore[arg-type]
