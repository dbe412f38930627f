"""Words of texts, and the masked copies from which their tokens are predicted."""

from __future__ import annotations

import numpy as np

from benchrunner.engine import Sequences
from benchrunner_kit.testing import TinyEncoder
from benchrunner_pairs.scored_tokens import TARGET, ScoredTokens

MASK = 99


def scored() -> ScoredTokens:
    """Two sequences: 1 [2 3] 4 with the word 2 3, and 5 [6]."""
    sequences = Sequences(np.array([1, 2, 3, 4, 5, 6]), np.zeros(6, dtype=np.int8), np.array([0, 4, 6]))
    return ScoredTokens(sequences, np.array([1, 2, 5]), np.array([3, 3, 6]), np.array([0, 0, 1]))


def test_each_token_is_masked_in_a_copy_of_its_text() -> None:
    features = scored().masked(MASK, within_word=False)
    assert features.tokens.tolist() == [1, MASK, 3, 4, 1, 2, MASK, 4, 5, MASK]
    assert features.starts.tolist() == [0, 4, 8, 10]
    assert features.token_targets[TARGET].tolist() == [-100, 2, -100, -100, -100, -100, 3, -100, -100, 6]


def test_within_word_masks_the_later_pieces_too() -> None:
    features = scored().masked(MASK, within_word=True)
    assert features.tokens.tolist() == [1, MASK, MASK, 4, 1, 2, MASK, 4, 5, MASK]
    assert features.token_targets[TARGET].tolist() == [-100, 2, -100, -100, -100, -100, 3, -100, -100, 6]


def test_a_causal_model_predicts_the_following_token() -> None:
    features = scored().following()
    assert features.tokens.tolist() == [1, 2, 3, 4, 5, 6]
    assert features.token_targets[TARGET].tolist() == [2, 3, -100, -100, 6, -100]


def test_the_first_token_of_a_sequence_cannot_follow() -> None:
    sequences = Sequences(np.array([7, 8]), np.zeros(2, dtype=np.int8), np.array([0, 2]))
    tokens = ScoredTokens(sequences, np.array([0, 1]), np.array([1, 2]), np.array([0, 0]))
    assert tokens.follows.tolist() == [False, True]
    assert tokens.following().token_targets[TARGET].tolist() == [8, -100]


def test_punctuation_is_no_part_of_a_word() -> None:
    class Letters(TinyEncoder):
        """Gives a token for each character."""

        def pieces(self, texts):  # type: ignore[no-untyped-def]
            from benchrunner.engine import Pieces

            spans = [(at, at + 1) for text in texts for at, letter in enumerate(text) if letter != " "]
            counts = [len(text.replace(" ", "")) for text in texts]
            starts = np.concatenate([[0], np.cumsum(counts)])
            return Pieces(np.arange(len(spans), dtype=np.int32), np.array(spans, dtype=np.int32), starts)

    found = ScoredTokens.of(Letters(), ["it's me.", "me"], [0, 0], 50)
    lengths = found.word_ends - found.places
    assert lengths.tolist() == [2, 1, 1, 1, 2, 1, 1, 2, 1]
    assert ScoredTokens.of(Letters(), ["it's me.", "me"], [5, 0], 50).text.tolist() == [0, 0, 0, 1, 1]
