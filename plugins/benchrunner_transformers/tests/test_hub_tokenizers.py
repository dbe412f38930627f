"""Text becomes the same numbers as in transformers, id for id and segment for segment, for tokenizers of every kind."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizer_samples import NAMES, drawn_texts, read_both, read_ours

from benchrunner.engine import Part, Pieces, Sequences
from benchrunner_transformers.checkpoint.tokenizer import HubTokenizer

FIRST, SECOND = drawn_texts(60, seed=1), drawn_texts(60, seed=2)


@pytest.fixture(scope="module", params=NAMES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[HubTokenizer, Any]:
    return read_both(request.param, tmp_path_factory.mktemp("tokenizer"))


def rows(sequences: Sequences) -> list[tuple[list[int], list[int]]]:
    assert sequences.tokens.dtype == np.int32 and sequences.segments.dtype == np.int8
    ends = pairwise(sequences.starts.tolist())
    return [(sequences.tokens[start:end].tolist(), sequences.segments[start:end].tolist()) for start, end in ends]


def their_rows(
    tokenizer: Any, ours: HubTokenizer, first: list[str], second: list[str] | None, length: int
) -> list[tuple[list[int], list[int]]]:
    """Return ids and segments of transformers; a sequence without tokens has the unknown token."""
    encoded = tokenizer(first, second, truncation="longest_first", max_length=length, return_token_type_ids=True)
    pairs = zip(encoded["input_ids"], encoded["token_type_ids"], strict=True)
    unknown = [tokenizer.unk_token_id if tokenizer.unk_token_id is not None else tokenizer.eos_token_id]
    given = ((ids, segments if ours.reads_segments else [0] * len(ids)) for ids, segments in pairs)
    return [(ids, segments) if ids else (unknown, [0]) for ids, segments in given]


def test_texts_and_pairs_are_those_of_transformers(both: tuple[HubTokenizer, Any]) -> None:
    ours, theirs = both
    for length in (40, 512):
        assert rows(ours.assemble(FIRST, None, length)) == their_rows(theirs, ours, FIRST, None, length)
        assert rows(ours.assemble(FIRST, SECOND, length)) == their_rows(theirs, ours, FIRST, SECOND, length)
    short = [pair for pair in zip(FIRST, SECOND, strict=True) if max(map(len, pair)) < 40]
    first, second = [text for text, _ in short], [text for _, text in short]
    assert len(short) > 10
    for length in (7, 8, 9, 12):
        assert rows(ours.assemble(first, second, length)) == their_rows(theirs, ours, first, second, length)


def whole(pieces: Pieces) -> Part:
    return Part(pieces.tokens, pieces.starts[:-1], pieces.counts)


def test_pieces_in_their_frame_are_whole_sequences(both: tuple[HubTokenizer, Any]) -> None:
    ours, _ = both
    first, second = whole(ours.pieces(FIRST)), whole(ours.pieces(SECOND))
    assert rows(ours.frame.join(first).sequences) == rows(ours.assemble(FIRST, None, 5000))
    assert rows(ours.frame.join(first, second).sequences) == rows(ours.assemble(FIRST, SECOND, 5000))


def test_a_saved_tokenizer_is_read_again(both: tuple[HubTokenizer, Any], tmp_path: Path) -> None:
    ours, theirs = both
    ours.assemble(FIRST[:3], None, 8)
    ours.save(tmp_path)
    (tmp_path / "config.json").write_text(
        (Path(theirs.name_or_path) / "config.json").read_text(encoding="utf-8"), encoding="utf-8"
    )
    again = read_ours(tmp_path)
    assert (
        again.fingerprint == ours.fingerprint and again.frame == ours.frame and again.size == ours.size == len(theirs)
    )


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "qwen2"])
def test_an_empty_text_is_the_end_of_text_token(name: str, tmp_path: Path) -> None:
    tokenizer, theirs = read_both(name, tmp_path)
    end = theirs.convert_tokens_to_ids("<|endoftext|>")
    assert rows(tokenizer.assemble(["", "a"], None, 9))[0] == ([end], [0])
    assert rows(tokenizer.assemble([""], [""], 9)) == [([end], [0])] and tokenizer.summary_place == "last"
