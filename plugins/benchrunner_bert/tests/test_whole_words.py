"""Whole-word masks: the pieces of a word are chosen together, and the share of chosen tokens is kept."""

from __future__ import annotations

import dataclasses
import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from pretraining_texts import CLS, FIRST, SEP, UNK, vocabulary

from benchrunner import DataError, RequestError
from benchrunner_bert.pretraining.checks import check
from benchrunner_bert.pretraining.continuation import decisive_facts
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.pretraining.instances.masking import Masking
from benchrunner_bert.pretraining.request import Request
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


CHINESE = Settings(objective="mlm", whole_words=True, chosen=0.5, masking=(100.0, 0.0, 0.0))


def words_of(pieces: Vocabulary, listed: list[str], text: str) -> list[str]:
    """Cut a text at the beginnings of the words that whole-word masks would keep together."""
    words = Masking(pieces, CHINESE, listed)._words
    assert words is not None
    tokens = pieces.tokenizer().words.tokens([text]).tokens
    assert len(tokens) == len(text)
    starts = [*words.starts(tokens, np.arange(len(tokens))).tolist(), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(starts)]


def test_the_characters_of_a_listed_chinese_word_are_a_word(tmp_path: Path) -> None:
    """The longest word wins, from left to right, although another cut could fit more words."""
    pieces = vocabulary(tmp_path / "vocab.txt", *sorted(set("我们在南京市长江大桥上看见了他。")))
    listed = ["南京", "南京市", "市长", "长江", "江大桥", "大桥", "我们", "看见"]
    cut = words_of(pieces, listed, "我们在南京市长江大桥上看见了他。")
    assert cut == ["我们", "在", "南京市", "长江", "大桥", "上", "看见", "了", "他", "。"]
    assert words_of(pieces, ["见了他"], "看见了") == ["看", "见", "了"], "a sequence may end inside a word"
    maker = Masking(pieces, CHINESE, listed)
    ids = pieces.tokenizer().words.tokens(["南京市在长江"]).tokens
    drawn = [set(chosen(maker, [CLS, *ids, SEP], seed)) for seed in range(100)]
    for group in ({1, 2, 3}, {4}, {5, 6}):
        assert {len(group & found) for found in drawn} == {0, len(group)}


def test_random_texts_are_cut_as_by_trying_every_word(tmp_path: Path) -> None:
    draw = random.Random(0)
    characters = "天地人日月"
    pieces = vocabulary(tmp_path / "vocab.txt", *characters)
    for _ in range(200):
        listed = ["".join(draw.choices(characters, k=draw.randint(2, 5))) for _ in range(draw.randint(1, 20))]
        text = "".join(draw.choices(characters, k=draw.randint(1, 40)))
        expected, rest = list[str](), text
        while rest:
            expected.append(max((word for word in listed if rest.startswith(word)), key=len, default=rest[0]))
            rest = rest.removeprefix(expected[-1])
        assert words_of(pieces, listed, text) == expected


def test_listed_words_of_unknown_characters_are_left_out(tmp_path: Path) -> None:
    """[UNK] would match any character; pieces that continue a word do so beside a list, too."""
    pieces = vocabulary(tmp_path / "vocab.txt", "天", "地", "un", "##able")
    maker = Masking(pieces, dataclasses.replace(CHINESE, predict_unknown=True), ["天龙", "天地"])
    drawn = [set(chosen(maker, [CLS, FIRST, UNK, FIRST, FIRST + 1, FIRST + 2, FIRST + 3, SEP], s)) for s in range(100)]
    for group in ({1}, {2}, {3, 4}, {5, 6}):
        assert {len(group & found) for found in drawn} == {0, len(group)}
    with pytest.raises(DataError, match="spells no word of --words with two known pieces"):
        Masking(pieces, CHINESE, ["龙凤", "un"])


def asked(path: Path, *, whole_words: bool = True) -> Request:
    settings = Settings(objective="mlm", input="document", whole_words=whole_words)
    return Request("tiny", (__file__,), path.parent / "out", settings, word_list=path)


def test_a_list_may_have_counts_behind_its_words(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("\ufeff长江 12 n\n\n的\n大桥\t7\n", encoding="utf-8")
    assert asked(path).listed_words == ("长江", "大桥")
    check(asked(path))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "words.txt: cannot be read: No such file"),
        (b"", "words.txt: no line begins with a word of two characters or more"),
        ("的\n了 9\n".encode(), "words.txt: no line begins with a word of two characters or more"),
        ("长江".encode("gb18030"), "words.txt"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = tmp_path / "words.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=reason):
        check(asked(path))


def test_a_list_without_whole_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("长江\n", encoding="utf-8")
    with pytest.raises(RequestError, match="--words says which characters --whole-words keeps together"):
        check(asked(tmp_path / "words.txt", whole_words=False))


def test_another_list_is_another_request(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    facts = []
    for words in ("长江\n", "大桥\n", "长江\n"):
        path.write_text(words, encoding="utf-8")
        facts.append(decisive_facts(asked(path), ()))
    assert facts[0] != facts[1] and facts[0] == facts[2]
