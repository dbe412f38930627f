"""Frames: special tokens around one text or two."""

import numpy as np
import pytest

from benchrunner.backbones.encoder import Encoder
from benchrunner.errors import PluginError, RequestError
from benchrunner.features.tokenized_texts import Frame, Part, Pieces

FRAME = Frame(before=(1,), between=(2, 3), after=(4,), unknown=9)
TEXT = np.arange(10, 20, dtype=np.int32)


def part(*runs: tuple[int, int]) -> Part:
    begins, counts = zip(*runs, strict=True)
    return Part(TEXT, np.array(begins, dtype=np.int64), np.array(counts, dtype=np.int64))


def test_two_runs_of_pieces_become_a_pair_with_its_segments() -> None:
    joined = FRAME.join(part((0, 2), (5, 1)), part((3, 1), (6, 3)))
    sequences = joined.sequences
    assert sequences.tokens.tolist() == [1, 10, 11, 2, 3, 13, 4, 1, 15, 2, 3, 16, 17, 18, 4]
    assert sequences.segments.tolist() == [0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]
    assert sequences.starts.tolist() == [0, 7, 15]
    assert joined.first.tolist() == [1, 8] and joined.second.tolist() == [5, 11]


def test_a_single_part_is_all_in_the_first_segment() -> None:
    joined = FRAME.join(part((0, 0), (8, 2)))
    assert joined.sequences.tokens.tolist() == [1, 4, 1, 18, 19, 4]
    assert not joined.sequences.segments.any() and FRAME.size(pair=False) == 2


def test_a_frame_that_ends_with_nothing_still_joins() -> None:
    bare = Frame(before=(), between=(2,), after=(), unknown=9, segments=(0, 0))
    assert bare.join(part((0, 1)), part((1, 1))).sequences.tokens.tolist() == [10, 2, 11]


def test_special_tokens_have_segments_of_their_own() -> None:
    """XLNet: A <sep> <cls>, or A <sep> B <sep> <cls>, with <cls> in segment 2."""
    alone = Frame(before=(), between=(), after=(4, 3), unknown=0, special_segments=((), (), (0, 2)))
    frame = Frame(before=(), between=(4,), after=(4, 3), unknown=0, special_segments=((), (0,), (1, 2)), single=alone)
    pair = frame.join(part((0, 2), (5, 1)), part((3, 1), (6, 0))).sequences
    assert pair.tokens.tolist() == [10, 11, 4, 13, 4, 3, 15, 4, 4, 3]
    assert pair.segments.tolist() == [0, 0, 0, 1, 1, 2, 0, 0, 1, 2]
    single = frame.join(part((0, 2))).sequences
    assert single.tokens.tolist() == [10, 11, 4, 3] and single.segments.tolist() == [0, 0, 0, 2]
    assert frame.size(pair=True) == 3 and frame.size(pair=False) == 2


def test_a_sequence_without_any_token_is_the_unknown_token() -> None:
    bare = Frame(before=(), between=(), after=(), unknown=9)
    joined = bare.join(part((0, 0), (0, 2)), part((0, 0), (5, 1)))
    assert joined.sequences.tokens.tolist() == [9, 10, 11, 15] and joined.sequences.starts.tolist() == [0, 1, 4]
    assert joined.sequences.segments.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("lengths", "room", "expected"),
    [((3, 5), 9, (3, 5)), ((3, 5), 6, (3, 3)), ((6, 2), 5, (3, 2)), ((5, 6), 7, (3, 4)), ((6, 6), 7, (3, 4))],
)
def test_the_longer_text_of_a_pair_is_cut_first(lengths: tuple[int, int], room: int, expected: tuple[int, int]) -> None:
    first, second = (text_of(length) for length in lengths)
    sequences = FRAME.fitted(first, second, room + FRAME.size(pair=True))
    a, b = expected
    assert sequences.tokens.tolist() == [1, *range(10, 10 + a), 2, 3, *range(10, 10 + b), 4]


def test_a_text_may_lose_its_first_pieces_instead() -> None:
    assert FRAME.fitted(text_of(5), None, 4, from_end=True).tokens.tolist() == [1, 13, 14, 4]
    assert FRAME.fitted(text_of(5), None, 4).tokens.tolist() == [1, 10, 11, 4]
    pair = FRAME.fitted(text_of(5), text_of(2), 7, from_end=True)
    assert pair.tokens.tolist() == [1, 13, 14, 2, 3, 11, 4]


def test_too_little_room_for_a_pair_is_refused() -> None:
    with pytest.raises(RequestError, match="at least 6 tokens here; max_length is 5"):
        FRAME.fitted(text_of(1), text_of(1), 5)


def text_of(length: int) -> Pieces:
    return Pieces(TEXT, np.zeros((length, 2), dtype=np.int32), np.array([0, length], dtype=np.int64))


def test_an_encoder_without_pieces_says_what_it_cannot_do() -> None:
    class Bare(Encoder):
        """Whole texts only."""

        assemble = hidden_states = summary = save = None  # type: ignore[assignment]

    with pytest.raises(PluginError, match="Bare has no method `pieces`, which spans, tags and"):
        Bare().words(["x"])
    with pytest.raises(PluginError, match="Bare has no property `frame`"):
        _ = Bare().frame
