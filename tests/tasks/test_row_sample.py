"""Samples of rows: shares of the labels, seeds, groups, and rows without labels."""

import itertools
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from benchrunner import ACCURACY, Classify, Regress, RequestError, Rows
from benchrunner.tasks.row_sample import limited_rows, sample
from benchrunner_kinds import Choose
from benchrunner_tasks import exact_match_of_groups
from inline import QUICK, mood, runner

LABELS = ["a"] * 60 + ["b"] * 30 + ["c"] * 9 + ["d"]
ABCD = Classify(("a", "b", "c", "d"))


def sampled(size: int, *, seed: int = 0, labels: list[str] = LABELS) -> Counter[str]:
    return Counter(labels[row] for row in sample(labels, size, seed=seed))


def split() -> Rows:
    texts = [f"text {number}" for number in range(len(LABELS))]
    return Rows(pa.table({"a": texts, "label": LABELS}), "train.tsv", list(range(2, 102)))


def test_a_sample_keeps_the_shares_of_the_labels() -> None:
    assert sampled(50) == {"a": 30, "b": 15, "c": 4, "d": 1}  # shares 30, 15, 4.5 and 0.5, of which d has one row
    assert sampled(20) == {"a": 11, "b": 6, "c": 2, "d": 1}  # shares 12, 6, 1.8 and 0.2: the largest lacks least
    assert sampled(100) == Counter(LABELS)


def test_every_label_has_a_row_in_the_sample() -> None:
    assert sampled(4) == {"a": 1, "b": 1, "c": 1, "d": 1}
    assert sampled(3) == {"a": 1, "b": 1, "c": 1}, "the frequent ones come first"


@pytest.mark.parametrize("size", range(4, 101, 7))
def test_a_sample_has_its_size_and_each_row_once(size: int) -> None:
    rows = sample(LABELS, size, seed=size)
    assert len(set(rows)) == size and rows == sorted(rows)
    large = ["a"] * 70 + ["b"] * 30
    shares = {label: size * count / 100 for label, count in Counter(large).items()}
    assert all(abs(count - shares[label]) < 1 for label, count in sampled(size, labels=large).items())


def test_each_seed_draws_its_own_sample() -> None:
    first, same, different = (sample(LABELS, 20, seed=seed) for seed in (0, 0, 1))
    assert first == same != different


def test_every_row_is_drawn_as_often_as_any_other() -> None:
    drawn = Counter(row for seed in range(400) for row in sample(["a"] * 6 + ["b"] * 3, 3, seed=seed))
    assert all(abs(drawn[row] - 400 / 3) < 45 for row in range(9)), drawn  # four deviations of a binomial


def test_a_sample_keeps_the_order_and_lines_of_its_rows() -> None:
    rows = limited_rows(split(), ABCD, 10, seed=3)
    texts = rows.table.column("a").to_pylist()
    assert len(rows) == 10 and rows.lines is not None
    assert [f"text {line - 2}" for line in rows.lines] == texts == sorted(texts, key=lambda text: int(text[5:]))


def test_a_whole_split_does_not_depend_on_the_seed() -> None:
    rows = split()
    assert limited_rows(rows, ABCD, None, seed=3) is rows
    assert limited_rows(rows, ABCD, 100, seed=3) is rows


def test_choices_are_sampled_by_the_place_of_the_right_one() -> None:
    table = pa.table({"a": ["x"] * 8, "choices": [["y", "z"]] * 8, "label": [0, 0, 0, 0, 0, 0, 1, 1]})
    rows = limited_rows(Rows(table, "train"), Choose(2), 4, seed=0)
    assert Counter(rows.table.column("label").to_pylist()) == {0: 3, 1: 1}


def test_rows_without_labels_are_drawn_at_random() -> None:
    """The first row is in as many samples as any other, and smaller samples are among larger ones."""
    rows = Rows(pa.table({"a": list("abcdefgh"), "label": [0.5] * 8}), "train", list(range(8)))
    drawn = [limited_rows(rows, Regress(0, 5), 2, seed=seed).lines or [] for seed in range(400)]
    assert all(abs(count - 100) < 36 for count in Counter(itertools.chain(*drawn)).values())
    assert set(drawn[3]) < set(limited_rows(rows, Regress(0, 5), 3, seed=3).lines or [])


def test_restarts_learn_from_samples_of_their_own(tmp_path: Path) -> None:
    fit_runner = runner(tmp_path)
    task, recipe = fit_runner.plugins.tasks.find("mood"), QUICK.changed(limit_train=8, epochs=1)
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
    for limit in range(2, 9):
        chosen = task.scored(rows, limit)
        asked = Counter(chosen.table.column("question").to_pylist())
        assert 0 < len(chosen) <= limit and all(count == questions.count(name) for name, count in asked.items())
        assert chosen.limit == len(chosen)
        assert chosen.notes == (f"scored on {len(chosen)} random rows of 9 only (--limit-dev)",)
    assert len(mood().scored(rows, 8)) == 8
    other = Rows(rows.table.drop_columns("question"), "a split that the metric does not score")
    assert len(task.scored(other, 8)) == 8
    with pytest.raises(
        RequestError, match="1 rows hold no whole group of rows that are scored together: use a larger --limit-dev"
    ):
        task.scored(rows, 1)
