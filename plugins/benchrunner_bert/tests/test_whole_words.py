"""Whole-word masks: the pieces of a word are chosen together, and the share of chosen tokens is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from instance_samples import LEAST
from pretraining_texts import CLS, FIRST, SEP, UNK, vocabulary
from scipy import stats

from benchrunner import RequestError
from benchrunner_bert.pretraining.instances.masking import Masking
from benchrunner_bert.pretraining.settings import Settings

WORD, REST, END = FIRST, FIRST + 1, FIRST + 2
"""The pieces `un`, `##believ` and `##able`."""


def masking(folder: Path, *, chosen: float = 0.2) -> Masking:
    pieces = vocabulary(folder / "vocab.txt", "un", "##believ", "##able", "house", "tree")
    return Masking(pieces, Settings(objective="mlm", whole_words=True, chosen=chosen, masking=(100.0, 0.0, 0.0)))


def chosen(maker: Masking, tokens: list[int], seed: int) -> list[int]:
    positions, labels = maker.apply(given := np.array(tokens, np.int32), np.random.default_rng(seed))
    assert (labels == np.array(tokens)[positions]).all() and (given[positions] == 4).all()
    return positions.tolist()


def test_the_pieces_of_a_word_are_chosen_together(tmp_path: Path) -> None:
    maker = masking(tmp_path, chosen=0.5)
    words = [WORD, REST, END]
    tokens = [CLS, *words, FIRST + 3, FIRST + 4, *words, FIRST + 3, *words[:2], SEP]
    groups = [{1, 2, 3}, {4}, {5}, {6, 7, 8}, {9}, {10, 11}]
    for seed in range(200):
        found = set(chosen(maker, tokens, seed))
        assert all(group <= found or not group & found for group in groups)


def test_a_word_does_not_reach_over_other_tokens(tmp_path: Path) -> None:
    maker = masking(tmp_path)
    found = [chosen(maker, [CLS, END, SEP, END, UNK, END], seed) for seed in range(200)]
    assert {tuple(positions) for positions in found} == {(1,), (3,), (5,)}


def test_the_share_of_chosen_tokens_is_kept(tmp_path: Path) -> None:
    maker = masking(tmp_path, chosen=0.15)
    draw = np.random.default_rng(0)
    counts = list[float]()
    for seed in range(2000):
        words = [[WORD, REST, END][: draw.integers(1, 4)] for _ in range(20)]
        tokens = [CLS, *(piece for word in words for piece in word), SEP]
        counts.append(len(chosen(maker, tokens, seed)) - 0.15 * (len(tokens) - 2))
    assert abs(np.mean(counts)) < 0.1


def test_every_word_of_one_length_is_chosen_alike(tmp_path: Path) -> None:
    maker = masking(tmp_path)
    tokens = [CLS, *[WORD, REST] * 10, SEP]
    seen = np.zeros(10)
    for seed in range(3000):
        for position in chosen(maker, tokens, seed)[::2]:
            seen[position // 2] += 1
    assert stats.chisquare(seen).pvalue > LEAST


def test_a_sequence_of_one_long_word_gives_it_whole(tmp_path: Path) -> None:
    assert chosen(masking(tmp_path), [CLS, WORD, REST, END, SEP], 0) == [1, 2, 3]


def test_a_sequence_without_words_gives_nothing(tmp_path: Path) -> None:
    assert chosen(masking(tmp_path), [CLS, UNK, SEP], 0) == []


def test_whole_words_need_an_objective_that_masks() -> None:
    with pytest.raises(RequestError, match="--whole-words is of objectives that mask tokens; ltr predicts every token"):
        Settings(objective="ltr", input="text", whole_words=True)
