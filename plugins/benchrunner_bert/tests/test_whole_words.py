"""Whole-word masks: the pieces of a word are chosen together, and the share of chosen tokens is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pretraining_texts import CLS, FIRST, SEP, UNK, vocabulary

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
    """A word does not reach over an unknown or a special token."""
    maker = masking(tmp_path, chosen=0.5)
    words = [WORD, REST, END]
    tokens = [CLS, *words, FIRST + 3, FIRST + 4, *words, FIRST + 3, *words[:2], UNK, END, SEP, END]
    groups = [{1, 2, 3}, {4}, {5}, {6, 7, 8}, {9}, {10, 11}, {13}, {15}]
    drawn = [set(chosen(maker, tokens, seed)) for seed in range(200)]
    for group in groups:
        assert {len(group & found) for found in drawn} == {0, len(group)}
    assert chosen(maker, [CLS, WORD, REST, END, SEP], 0) == [1, 2, 3], "one word is chosen whole"
    assert chosen(maker, [CLS, UNK, SEP], 0) == []


def test_the_share_of_chosen_tokens_is_kept(tmp_path: Path) -> None:
    maker = masking(tmp_path, chosen=0.15)
    draw = np.random.default_rng(0)
    counts = list[float]()
    for seed in range(2000):
        words = [[WORD, REST, END][: draw.integers(1, 4)] for _ in range(20)]
        tokens = [CLS, *(piece for word in words for piece in word), SEP]
        counts.append(len(chosen(maker, tokens, seed)) - 0.15 * (len(tokens) - 2))
    assert abs(np.mean(counts)) < 0.1


def test_whole_words_need_an_objective_that_masks() -> None:
    with pytest.raises(RequestError, match="--whole-words is of objectives that mask tokens; ltr predicts every token"):
        Settings(objective="ltr", input="text", whole_words=True)
