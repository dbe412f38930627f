"""Texts encoded by looking up their words have the tokens that the tokenizer gives for the whole texts."""

import random

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from benchrunner_checkpoints.tokens import word_cache
from benchrunner_checkpoints.tokens.spans import trimmed
from benchrunner_checkpoints.tokens.word_cache import WordCache

LETTERS = [chr(code) for code in range(33, 127)]
PIECES = [
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *LETTERS,
    *(f"##{letter}" for letter in LETTERS),
    "the",
    "##ing",
    "play",
    "ü",
    "日",
]


def tokenizer(*, lowercase: bool = True, clean: bool = True, added: str = "[SEP]") -> Tokenizer:
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(PIECES)) if piece != "Q"}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=20))
    made.normalizer = normalizers.BertNormalizer(clean_text=clean, lowercase=lowercase)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens([added])
    return made


def cache(made: Tokenizer) -> WordCache:
    return WordCache(made)


def texts(count: int) -> list[str]:
    """Return texts of letters, punctuation, white space, control characters, special tokens and other scripts."""
    source = random.Random(0)
    parts = [
        "the",
        "playing",
        "The",
        "PLAY",
        "Q",
        "x" * 21,
        "[SEP]",
        "sep",
        "ü",
        "日本",
        "\x00",
        "\t",
        "\n",
        "\u00a0",
        "\x7f",
        "",
    ]
    parts += [chr(code) for code in range(32, 127)]
    return ["".join(source.choices([*parts, " ", " "], k=source.randrange(12))) for _ in range(count)]


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("added", ["[SEP]", "the", " x", "ü", "^-"])
def test_tokens_are_those_of_whole_texts(lowercase: bool, added: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_cache, "CHUNK", 100)
    monkeypatch.setattr(word_cache, "MOST_WORDS", 200)  # the cache begins anew between some chunks
    made = tokenizer(lowercase=lowercase, added=added)
    rows = texts(2_000)
    expected = [made.encode(text, add_special_tokens=False).ids for text in rows]
    pieces = cache(made).tokens(rows)
    found = [pieces.tokens[begin:end].tolist() for begin, end in zip(pieces.starts, pieces.starts[1:], strict=False)]
    assert found == expected
    assert pieces.tokens.dtype == "int32" and pieces.spans.shape == (0, 2)


@pytest.mark.parametrize("kind", ["other words", "no cleaning", "no normalizer"])
def test_other_tokenizers_encode_whole_texts(kind: str) -> None:
    made = tokenizer(clean=kind != "no cleaning")
    if kind == "other words":
        made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if kind == "no normalizer":
        made.normalizer = normalizers.Sequence([])
    rows = texts(200)
    assert cache(made).tokens(rows).tokens.tolist() == [
        token for text in rows for token in made.encode(text, add_special_tokens=False).ids
    ]


def test_no_texts_give_no_tokens() -> None:
    pieces = cache(tokenizer()).tokens([])
    assert (len(pieces.tokens), pieces.starts.tolist()) == (0, [0])
    assert cache(tokenizer()).tokens(["", " "]).starts.tolist() == [0, 0, 0]


def test_spans_lose_white_space_at_their_ends() -> None:
    spans = np.array([[0, 3], [3, 4], [4, 6], [0, 2], [2, 5]], dtype=np.int32)
    counts = np.array([3, 0, 2])
    expected = [[1, 3], [4, 4], [4, 5], [2, 2], [4, 5]]
    assert trimmed([" ab\u2003c\n", "", "  \u00a0 ż"[:4] + "ż"], spans, counts).tolist() == expected
    assert trimmed(["  "], spans[3:4], np.array([1])).tolist() == [[2, 2]]
