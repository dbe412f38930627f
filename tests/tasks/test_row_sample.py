"""Stratified samples of training rows: shares of the labels, seeds, and what cannot be sampled."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from benchrunner import ACCURACY, Choose, Classify, Recipe, Regress, RequestError, Rows, exact_match_of_groups
from benchrunner.tasks.row_sample import stratified_sample, training_rows
from inline import QUICK, mood, runner

LABELS = ["a"] * 60 + ["b"] * 30 + ["c"] * 9 + ["d"]
ABCD = Classify(("a", "b", "c", "d"))


def sampled(size: int, *, seed: int = 0, labels: list[str] = LABELS) -> Counter[str]:
    return Counter(labels[row] for row in stratified_sample(labels, size, seed=seed))


def split() -> Rows:
    texts = [f"text {number}" for number in range(len(LABELS))]
    return Rows(pa.table({"a": texts, "label": LABELS}), "train.tsv", list(range(2, 102)))


def test_a_sample_keeps_the_shares_of_the_labels() -> None:
    assert sampled(50) == {"a": 30, "b": 15, "c": 4, "d": 1}  # shares 30, 15, 4.5 and 0.5, of which d has one row
    assert sampled(20) == {"a": 11, "b": 6, "c": 2, "d": 1}  # shares 12, 6, 1.8 and 0.2: the largest lacks least
    assert sampled(100) == Counter(LABELS)


def test_every_label_has_a_row_in_the_sample() -> None:
    assert sampled(4) == {"a": 1, "b": 1, "c": 1, "d": 1}
    with pytest.raises(RequestError, match="each of the 4 labels: use --limit-train 4 or more, not 3"):
        sampled(3)


@pytest.mark.parametrize("size", range(4, 101, 7))
def test_a_sample_has_its_size_and_each_row_once(size: int) -> None:
    rows = stratified_sample(LABELS, size, seed=size)
    assert len(set(rows)) == size and rows == sorted(rows)
    large = ["a"] * 70 + ["b"] * 30
    shares = {label: size * count / 100 for label, count in Counter(large).items()}
    assert all(abs(count - shares[label]) < 1 for label, count in sampled(size, labels=large).items())


def test_each_seed_draws_its_own_sample() -> None:
    first, same, different = (stratified_sample(LABELS, 20, seed=seed) for seed in (0, 0, 1))
    assert first == same != different


def test_every_row_is_drawn_as_often_as_any_other() -> None:
    drawn = Counter(row for seed in range(400) for row in stratified_sample(["a"] * 6 + ["b"] * 3, 3, seed=seed))
    assert all(abs(drawn[row] - 400 / 3) < 45 for row in range(9)), drawn  # four deviations of a binomial


def test_a_sample_keeps_the_order_and_lines_of_its_rows() -> None:
    rows = training_rows(split(), ABCD, Recipe(limit_train=10, sample="stratified"), seed=3)
    texts = rows.table.column("a").to_pylist()
    assert len(rows) == 10 and rows.lines is not None
    assert [f"text {line - 2}" for line in rows.lines] == texts == sorted(texts, key=lambda text: int(text[5:]))


def test_first_rows_and_whole_splits_do_not_depend_on_the_seed() -> None:
    rows = split()
    assert training_rows(rows, ABCD, Recipe(limit_train=10), seed=3).table.equals(rows.table.slice(0, 10))
    assert training_rows(rows, ABCD, Recipe(), seed=3) is rows
    assert training_rows(rows, ABCD, Recipe(limit_train=100, sample="stratified"), seed=3) is rows


def test_choices_are_sampled_by_the_place_of_the_right_one() -> None:
    table = pa.table({"a": ["x"] * 8, "choices": [["y", "z"]] * 8, "label": [0, 0, 0, 0, 0, 0, 1, 1]})
    rows = training_rows(Rows(table, "train"), Choose(2), Recipe(limit_train=4, sample="stratified"), seed=0)
    assert Counter(rows.table.column("label").to_pylist()) == {0: 3, 1: 1}


def test_a_problem_without_labels_to_group_by_is_refused() -> None:
    rows = Rows(pa.table({"a": ["x", "y"], "label": [0.5, 1.0]}), "train")
    with pytest.raises(RequestError, match=r"problem 'regress' do not have. Leave --sample out"):
        training_rows(rows, Regress(0, 5), Recipe(limit_train=1, sample="stratified"), seed=0)


def test_restarts_learn_from_samples_of_their_own(tmp_path: Path) -> None:
    fit_runner = runner(tmp_path)
    task, recipe = fit_runner.plugins.tasks.find("mood"), QUICK.changed(limit_train=8, sample="stratified", epochs=1)
    fits = [fit_runner.planner.plan(task, "words", recipe=recipe, seed=seed) for seed in (0, 1, 0)]
    assert fits[0].id == fits[2].id and fits[0].data != fits[1].data
    assert [fit_runner.run(fit).status for fit in fits[:2]] == ["done", "done"]
    majority = [fit_runner.planner.plan(task, "", method="majority", recipe=recipe, seed=seed).id for seed in (0, 1)]
    assert majority[0] == majority[1]


def test_a_limit_of_dev_rows_cuts_no_group() -> None:
    """Nine answers to questions of two, three and four; a part of a question would be scored as if it were whole."""
    questions = [0, 0, 1, 1, 1, 2, 2, 2, 2]
    rows = Rows(pa.table({"a": ["x"] * 9, "label": ["glad"] * 9, "question": questions}), "dev", list(range(9)))
    task = mood(metrics=(ACCURACY, exact_match_of_groups("question")))
    chosen = task.scored(rows, 8, "first")
    assert chosen.table.column("question").to_pylist() == [0, 0, 1, 1, 1] and chosen.lines == [0, 1, 2, 3, 4]
    assert chosen.limit == 5
    assert chosen.notes == ("scored on whole groups, 5 rows, among the first 8 of 9 rows only (--limit-dev)",)
    assert len(mood().scored(rows, 8, "first")) == 8
    other = Rows(rows.table.drop_columns("question"), "a split that the metric does not score")
    assert len(task.scored(other, 8, "first")) == 8
    with pytest.raises(RequestError, match="The first 1 rows hold no whole group of rows that exact_match scores"):
        task.scored(rows, 1, "first")
    with pytest.raises(RequestError, match="parts the groups of rows of exact_match"):
        task.scored(rows, 8, "stratified")
