"""Halves of a dev split: every row is in one of them, and what belongs together stays together."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from benchrunner import ACCURACY, RequestError, Rows, exact_match_of_groups
from benchrunner.tasks.dev_halves import halves
from inline import mood

LABELS = ["glad"] * 61 + ["sad"] * 40


def rows(count: int = 101, **columns: list[Any]) -> Rows:
    texts = {"a": [f"text {number}" for number in range(count)], "label": LABELS[:count]}
    return Rows(pa.table({**texts, **columns}), "dev.tsv", list(range(2, count + 2)), ("a note",))


def numbers(half: Rows) -> list[int]:
    assert half.half is not None
    return list(half.half.numbers)


def test_every_row_is_in_one_half_with_its_line() -> None:
    split = rows()
    selecting, held_out = halves(split, mood(), "dev")
    assert (len(selecting), len(held_out)) == (50, 51)
    assert sorted(numbers(selecting) + numbers(held_out)) == list(range(101))
    for half in (selecting, held_out):
        assert numbers(half) == sorted(numbers(half)) != list(range(len(half)))
        assert half.lines == [2 + row for row in numbers(half)]
        assert half.table.column("a").to_pylist() == [f"text {row}" for row in numbers(half)]
        assert half.limit == len(half)
        note = "selected on 50 rows of dev, and scored on the other 51 (--select-on-half)"
        assert half.notes == ("a note", note)
    assert selecting.half is not None and held_out.half is not None
    assert (selecting.half.name, held_out.half.name) == ("selecting", "held-out")
    assert selecting.half.whole is split


def test_halves_are_always_the_same_and_share_labels_evenly() -> None:
    first, again = halves(rows(), mood(), "dev"), halves(rows(), mood(), "dev")
    assert [half.fingerprint for half in first] == [half.fingerprint for half in again]
    selecting, held_out = (Counter(half.table.column("label").to_pylist()) for half in first)
    assert all(abs(selecting[label] - held_out[label]) <= 1 for label in ("glad", "sad"))


def test_no_cluster_and_no_group_is_cut() -> None:
    """Clusters of four rows, and groups of two that lie across the borders of clusters: eight rows belong together."""
    article = [row // 4 for row in range(96)]
    question = [(row + 2) // 4 if row % 8 in (2, 3, 4, 5) else 1_000 + row for row in range(96)]
    task = mood(clusters="article", metrics=(ACCURACY, exact_match_of_groups("question")))
    parts = halves(rows(96, article=article, question=question), task, "dev")
    for column in ("article", "question"):
        selecting, held_out = (set(half.table.column(column).to_pylist()) for half in parts)
        assert selecting.isdisjoint(held_out)
    assert [len(half) for half in parts] == [48, 48]
    assert all(row // 8 * 8 + place in numbers(parts[0]) for row in numbers(parts[0]) for place in range(8))


def test_unequal_clusters_make_halves_of_about_one_size() -> None:
    article = [0] * 40 + [1] * 30 + [2] * 20 + list(range(3, 14))
    parts = halves(rows(article=article), mood(clusters="article"), "dev")
    assert [len(half) for half in parts] == [50, 51]


@pytest.mark.parametrize(
    ("count", "changes", "reason"),
    [
        (1, {}, "dev.tsv has 1 row"),
        (8, {"clusters": "article"}, "1 row\\(s\\), or groups of rows that belong together"),
        (8, {"metrics": (ACCURACY, exact_match_of_groups("article"))}, "or groups of rows that belong together"),
    ],
)
def test_what_cannot_be_cut_is_refused(count: int, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(
        RequestError, match=f"mine/mood: .*{reason}.*, too few for 2 halves of dev: leave --select-on-half"
    ):
        halves(rows(count, article=[7] * count), mood(**changes), "dev")
