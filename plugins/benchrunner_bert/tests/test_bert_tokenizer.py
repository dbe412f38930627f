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


@pytest.mark.parametrize("max_length", [3, 4, 5, 8, 13, 32, 33, 128, 512])
def test_single_texts_equal_transformers(
    released: tuple[BertTokenizer, PreTrainedTokenizerBase], max_length: int
) -> None:
    ours, other = released
    texts = [*FIRST, *ODD_TEXTS, " ".join(FIRST)]
    assert rows(ours.assemble(texts, None, max_length)) == theirs(other, texts, None, max_length)


@pytest.mark.parametrize("max_length", [5, 6, 7, 8, 9, 12, 13, 31, 32, 128, 512])
def test_pairs_equal_transformers(released: tuple[BertTokenizer, PreTrainedTokenizerBase], max_length: int) -> None:
    """Every text beside itself and others: shorter, longer and equal ones, over even and odd budgets."""
    ours, other = released
    texts = [*FIRST, *SECOND, *ODD_TEXTS]
    first = texts * 4
    second = [text for turn in (0, 1, 7, 16) for text in (*texts[turn:], *texts[:turn])]
    assert rows(ours.assemble(first, second, max_length)) == theirs(other, first, second, max_length)


@given(some.lists(some.tuples(some.text(max_size=60), some.text(max_size=60)), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_any_text_equals_transformers(
    released: tuple[BertTokenizer, PreTrainedTokenizerBase], pairs: list[tuple[str, str]]
) -> None:
    ours, other = released
    first, second = (list(column) for column in zip(*pairs, strict=True))
    assert rows(ours.assemble(first, second, 24)) == theirs(other, first, second, 24)
    assert rows(ours.assemble(first, None, 24)) == theirs(other, first, None, 24)


def test_more_texts_than_one_chunk_stay_in_order(released: tuple[BertTokenizer, PreTrainedTokenizerBase]) -> None:
    ours, _ = released
    texts = [str(number) for number in range(10_000)]
    found = rows(ours.assemble(texts, None, 16))
    assert len(found) == 10_000
    assert found[9_999] == rows(ours.assemble(["9999"], None, 16))[0]
    assert found[4_096] == rows(ours.assemble(["4096"], None, 16))[0]


@pytest.mark.parametrize(("second", "too_short"), [(None, 2), (["b"], 4)])
def test_a_length_without_room_for_text_is_refused(second: list[str] | None, too_short: int) -> None:
    tokenizer = BertTokenizer.from_vocabulary(VOCABULARY)
    with pytest.raises(RequestError, match=f"at least {too_short + 1} tokens"):
        tokenizer.assemble(["a"], second, too_short)
    assert len(tokenizer.assemble(["a"], second, too_short + 1).starts) == 2


# Where the vocabulary comes from


def test_vocab_txt_alone_gives_the_same_ids_as_tokenizer_json(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes((minilm() / "vocab.txt").read_bytes())
    alone, whole = BertTokenizer.read(tmp_path), BertTokenizer.read(minilm())
    texts = [*FIRST, *ODD_TEXTS]
    first, second = (list(column) for column in zip(*itertools.product(texts, texts), strict=True))
    assert rows(alone.assemble(first, second, 40)) == rows(whole.assemble(first, second, 40))


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
    if "strip_accents" not in changes or changes["do_lower_case"]:
        assert AutoTokenizer.from_pretrained(saved)(text)["input_ids"][1:-1] == wanted
        (saved / "tokenizer.json").unlink()
        assert ids(saved, text) == wanted


def test_a_duplicate_piece_gets_the_last_id_and_size_counts_both(tmp_path: Path) -> None:
    tokenizer = BertTokenizer.read(vocabulary(tmp_path, "paris", "paris"))
    assert rows(tokenizer.assemble(["paris"], None, 8))[0][0] == [2, 6, 3]
    assert tokenizer.size == 7


def test_the_fingerprint_follows_everything_that_changes_ids(tmp_path: Path) -> None:
    folders = [
        vocabulary(tmp_path / "a", "paris"),
        vocabulary(tmp_path / "b", "paris", "rome"),
        vocabulary(tmp_path / "c", "paris", do_lower_case=False),
    ]
    prints = [BertTokenizer.read(folder).fingerprint for folder in folders]
    assert len(set(prints)) == 3
    assert BertTokenizer.read(folders[0]).fingerprint == prints[0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tokenizer.json", b"{", "not a tokenizer"),
        ("tokenizer.json", b'{"version": "1.0"}', "not a tokenizer"),
        ("vocab.txt", b"[PAD]\n[UNK]\n[SEP]\n", r"no \[CLS\]"),
        ("vocab.txt", b"hello\n", r"no \[UNK\]"),
        ("vocab.txt", b"\xff\xfe\x00", "not a readable vocabulary"),
        ("other.txt", b"", "neither tokenizer.json nor vocab.txt"),
    ],
)
def test_a_broken_tokenizer_is_a_clear_error(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        BertTokenizer.read(tmp_path)
