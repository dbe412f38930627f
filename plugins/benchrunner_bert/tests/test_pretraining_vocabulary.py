"""A vocabulary is the same every time, and looking words up gives what the Rust tokenizer gives."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as some
from pretraining_texts import SPECIAL
from test_bert_tokenizer import ODD_TEXTS
from tokenizers import BertWordPieceTokenizer

from benchrunner import CheckpointError, DataError
from benchrunner_bert.backbones import VOCABULARY
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.pretraining.corpus.vocabulary_learning import learn_vocabulary
from benchrunner_bert.tokenizer import BertTokenizer

TEXTS = [
    "The lower you go, the newer it gets; Ångström's widest low.",
    "Lowest, newest, widest: 1234 中文 low low low.",
]


def test_the_special_tokens_come_first_in_the_order_of_the_paper(tmp_path: Path) -> None:
    found = learn_vocabulary(lambda: TEXTS * 50, tmp_path / "vocab.txt", size=120)
    pieces = (tmp_path / "vocab.txt").read_text(encoding="utf-8").splitlines()
    assert pieces[:5] == SPECIAL
    assert (found.special, found.mask, found.size, found.lowercase) == ((0, 1, 2, 3, 4), 4, len(pieces), True)
    assert {"low", "the", "中", "a", "##a", ";"} <= set(pieces)
    assert not {"##;", "##中", "T", "Å", "å"} & set(pieces)


TIES = [" ".join(f"{a}{b}{c}{d}" for a in "pqrstu" for b in "aeiou" for c in "lmnrst" for d in "aeiou")]


def test_ties_give_the_same_vocabulary_every_time(tmp_path: Path) -> None:
    """Left to itself the trainer decides ties by numbers that are drawn anew for each training."""
    learnt = [learn_vocabulary(lambda: TIES, tmp_path / str(number), size=300) for number in range(4)]
    assert len({(tmp_path / str(number)).read_bytes() for number in range(4)}) == 1 and learnt[0].size == 300


def test_the_pieces_are_those_of_the_plain_trainer(tmp_path: Path) -> None:
    """Its set of pieces, where no tie falls on the last one."""
    texts = ["low " * 9 + "lower " * 7 + "newest " * 5 + "widest " * 3] * 3
    plain = BertWordPieceTokenizer(lowercase=True)
    plain.train_from_iterator(texts, vocab_size=1000, show_progress=False)
    learn_vocabulary(lambda: texts, tmp_path / "vocab.txt", size=1000)
    ours, theirs = set((tmp_path / "vocab.txt").read_text(encoding="utf-8").splitlines()), set(plain.get_vocab())
    assert theirs <= ours and all(len(piece.removeprefix("##")) == 1 for piece in ours - theirs)


@pytest.mark.timeout(60)
def test_a_line_of_a_megabyte_without_blanks_is_linear(tmp_path: Path) -> None:
    """The trainer's time grows with the square of a word's length: minutes for this one, were it not cut."""
    found = learn_vocabulary(lambda: [*TEXTS * 50, "lowest" * 170_000], tmp_path / "vocab.txt", size=120)
    assert found.size > 100 and "low" in (tmp_path / "vocab.txt").read_text(encoding="utf-8").splitlines()


def test_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="The corpus is empty"):
        learn_vocabulary(lambda: ["", " "], tmp_path / "vocab.txt", size=1000)


# A given one


def test_a_vocabulary_that_lacks_or_repeats_a_token_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    for missing in SPECIAL:
        path.write_text("\n".join(token for token in [*SPECIAL, "a"] if token != missing), encoding="utf-8")
        with pytest.raises(CheckpointError, match=rf"vocab\.txt: a vocabulary without \{missing[:-1]}\]"):
            Vocabulary.read(path)
    path.write_text("\n".join([*SPECIAL, "a", "b", "a"]), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"vocab\.txt:8: 'a' stands on line 6 already"):
        Vocabulary.read(path)


def test_special_tokens_may_be_anywhere_and_capitals_imply_cased(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("a\r\n[MASK]\r\n[SEP]\r\nB\r\n[CLS]\r\n[UNK]\r\n[PAD]\r\n", encoding="utf-8")
    found = Vocabulary.read(tmp_path / "vocab.txt")
    assert (found.special, found.mask, found.lowercase, found.size) == ((6, 5, 4, 2, 1), 1, False, 7)
    assert Vocabulary.read(VOCABULARY).lowercase


# Looking words up


def rows(tokens: np.ndarray, lengths: np.ndarray) -> list[list[int]]:
    return [one.tolist() for one in np.split(tokens, np.cumsum(lengths))[:-1]]


@functools.cache
def _tokenizer(lowercase: bool) -> BertTokenizer:
    return BertTokenizer.from_vocabulary(VOCABULARY, lowercase=lowercase)


def same(sentences: list[str], *, lowercase: bool = True) -> None:
    tokenizer = _tokenizer(lowercase)
    found, wanted = tokenizer.words.tokens(sentences), tokenizer.pieces(sentences)
    assert found.tokens.dtype == np.int32
    assert rows(found.tokens, found.counts) == rows(wanted.tokens, wanted.counts)


@pytest.mark.parametrize("lowercase", [True, False])
def test_odd_texts_give_the_same_tokens_as_the_tokenizer(lowercase: bool) -> None:
    same(ODD_TEXTS, lowercase=lowercase)
    same([" ".join(ODD_TEXTS), *ODD_TEXTS, "", "  two  spaces  ", *ODD_TEXTS], lowercase=lowercase)


ALPHABET = some.one_of(some.characters(exclude_categories=["Cs"]), some.sampled_from(" ',.-aé["))


@given(some.lists(some.text(ALPHABET, max_size=40), max_size=5))
@settings(max_examples=150, deadline=None)
def test_any_text_gives_the_same_tokens_as_the_tokenizer(sentences: list[str]) -> None:
    same(sentences)
