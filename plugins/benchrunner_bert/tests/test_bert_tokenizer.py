"""Text becomes the same numbers as in transformers, id for id and segment for segment."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from bert_samples import FIRST, SECOND, minilm
from hypothesis import given, settings, strategies as some
from transformers import AutoTokenizer, BertTokenizerFast, PreTrainedTokenizerBase

from benchrunner import CheckpointError, RequestError
from benchrunner.engine import Sequences
from benchrunner_bert.backbones import VOCABULARY
from benchrunner_bert.tokenizer import BertTokenizer

ODD_TEXTS = [
    "",
    " ",
    "\t\n",
    "Zażółć gęślą jaźń; café, naïve, Ångström, İstanbul, ß, ﬁ, Ⅷ.",
    "你好,世界!这是 BERT。日本語テキスト 한국어",
    "𠜎𠜱 😀 👩‍👩‍👧 🇩🇪",
    "[CLS] a [SEP] b [MASK] [PAD] [UNK] [cls] [sep]",
    "a[SEP]b [SEP][SEP]",
    "##ing ing ##s un##believable",
    "$1,234.56 -- it's 'quoted' \"twice\" (and) so-on... #tag @name e-mail@host.org https://host.org/a?b=c",
    "x" * 101,
    "x" * 100,
    "zero\u200bwidth soft\u00adhyphen null\x00byte bell\x07 nbsp\u00a0 line\u2028separator \ufeffbom \ufffd",
    "Русский текст, Ελληνικά, עברית, العربية, ไทย, हिन्दी",
    "e\u0301 a\u0308 combining",
    "UPPER lower MiXeD ÉÈÊ",
]


@pytest.fixture(scope="module")
def released() -> tuple[BertTokenizer, PreTrainedTokenizerBase]:
    return BertTokenizer.read(minilm()), AutoTokenizer.from_pretrained(minilm())


def rows(found: Sequences) -> list[tuple[list[int], list[int]]]:
    spans = [slice(start, stop) for start, stop in itertools.pairwise(found.starts.tolist())]
    assert found.tokens.dtype == np.int32 and found.segments.dtype == np.int8
    return [(found.tokens[one].tolist(), found.segments[one].tolist()) for one in spans]


def theirs(
    tokenizer: PreTrainedTokenizerBase, first: Sequence[str], second: Sequence[str] | None, max_length: int
) -> list[tuple[list[int], list[int]]]:
    pair = None if second is None else list(second)
    found = tokenizer(list(first), pair, truncation="longest_first", max_length=max_length)
    return list(zip(found["input_ids"], found["token_type_ids"], strict=True))


@pytest.mark.parametrize("max_length", [5, 6, 7, 8, 9, 12, 13, 31, 32, 128, 512])
def test_texts_and_pairs_equal_transformers(
    released: tuple[BertTokenizer, PreTrainedTokenizerBase], max_length: int
) -> None:
    """Every text beside itself and others: shorter, longer and equal ones, over even and odd budgets."""
    ours, other = released
    texts = [*FIRST, *SECOND, *ODD_TEXTS, " ".join(FIRST)]
    first = texts * 4
    second = [text for turn in (0, 1, 7, 16) for text in (*texts[turn:], *texts[:turn])]
    assert rows(ours.assemble(first, second, max_length)) == theirs(other, first, second, max_length)
    assert rows(ours.assemble(texts, None, max_length - 2)) == theirs(other, texts, None, max_length - 2)


@given(some.lists(some.tuples(some.text(max_size=60), some.text(max_size=60)), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_any_text_equals_transformers(
    released: tuple[BertTokenizer, PreTrainedTokenizerBase], pairs: list[tuple[str, str]]
) -> None:
    ours, other = released
    first, second = (list(column) for column in zip(*pairs, strict=True))
    assert rows(ours.assemble(first, second, 24)) == theirs(other, first, second, 24)
    assert rows(ours.assemble(first, None, 24)) == theirs(other, first, None, 24)


def test_a_length_without_room_for_text_is_refused() -> None:
    tokenizer = BertTokenizer.from_vocabulary(VOCABULARY)
    for second, least in ((None, 3), (["b"], 5)):
        assert len(tokenizer.assemble(["a"], second, least).starts) == 2
        with pytest.raises(RequestError, match=f"at least {least} tokens"):
            tokenizer.assemble(["a"], second, least - 1)


# Where the vocabulary comes from


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def vocabulary(folder: Path, *pieces: str, **settings: object) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in [*SPECIAL, *pieces]), encoding="utf-8")
    if settings:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


def ids(folder: Path, text: str) -> list[int]:
    return rows(BertTokenizer.read(folder).assemble([text], None, 64))[0][0][1:-1]


def test_a_vocabulary_with_capital_letters_is_a_cased_one(tmp_path: Path) -> None:
    assert ids(vocabulary(tmp_path / "cased", "Paris", "paris", "é", "e"), "Paris paris é") == [5, 6, 7]
    assert ids(vocabulary(tmp_path / "uncased", "paris", "é", "e"), "Paris paris é") == [5, 5, 7]
    assert ids(vocabulary(tmp_path / "twice", "paris", "paris"), "paris") == [6], "a duplicate has the last id"


def test_only_a_line_feed_ends_a_piece(tmp_path: Path) -> None:
    """Another separator inside a piece must not move the ids of those that follow."""
    for at, mark in enumerate("\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e" + "\r"):
        assert ids(vocabulary(tmp_path / str(at), f"a{mark}b", "house"), "house") == [6]
    (tmp_path / "0" / "vocab.txt").write_bytes("\r\n".join([*SPECIAL, "house", ""]).encode())
    assert ids(tmp_path / "0", "house") == [5]


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"do_lower_case": True}, [6, 8, 9, 9]),
        ({"do_lower_case": False}, [5, 7, 9, 9]),
        ({"do_lower_case": True, "strip_accents": False}, [6, 7, 9, 9]),
        ({"do_lower_case": False, "strip_accents": True}, [5, 8, 9, 9]),
        ({"do_lower_case": False, "tokenize_chinese_chars": False}, [5, 7, 11]),
    ],
)
def test_the_settings_beside_a_vocabulary_are_followed_and_saved(
    tmp_path: Path, changes: dict[str, object], wanted: list[int]
) -> None:
    text, saved = "Paris é 中中", tmp_path / "saved"
    folder = vocabulary(tmp_path / "first", "Paris", "paris", "é", "e", "中", "##中", "中中", **changes)
    assert ids(folder, text) == BertTokenizerFast.from_pretrained(folder)(text)["input_ids"][1:-1] == wanted
    saved.mkdir()
    BertTokenizer.read(folder).save(saved)
    assert ids(saved, text) == wanted


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tokenizer.json", b'{"version": "1.0"}', "not a tokenizer"),
        ("vocab.txt", b"[PAD]\n[UNK]\n[SEP]\n", r"no \[CLS\]"),
        ("vocab.txt", b"\xff\xfe\x00", "not a readable vocabulary"),
        ("other.txt", b"", "neither tokenizer.json nor vocab.txt"),
    ],
)
def test_a_broken_tokenizer_is_a_clear_error(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        BertTokenizer.read(tmp_path)
