"""Learn a WordPiece vocabulary from a corpus: the same text always gives the same vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from benchrunner import DataError, RequestError, write_atomically
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.tokenizer import SPECIAL

CHARACTERS = 1000
"""At most so many different ones have pieces of their own; text with a rarer one is [UNK] there."""


SMALLEST = 100
"""Pieces: fewer do not spell English."""


def learn_vocabulary(
    paragraphs: Callable[[], Iterable[str]], path: Path, *, size: int, lowercase: bool = True
) -> Vocabulary:
    """Write the vocab.txt of a corpus; `paragraphs` gives all of it, and is asked twice."""
    if size < SMALLEST:
        raise RequestError(f"A vocabulary of {size} pieces spells no text: ask for at least {SMALLEST}.")
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    characters = _characters(paragraphs(), tokenizer, min(CHARACTERS, size // 4))
    if not characters:
        raise DataError("The corpus is empty: no vocabulary can be learnt from it.")
    # The trainer numbers single characters in an order that changes from run to run, and decides ties by number.
    # Named as special they have their numbers from the start; being learnt last, the text is not searched for them.
    first = [*SPECIAL, *characters, *(f"##{one}" for one in characters if _stands_inside(one, tokenizer))]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=first,
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        continuing_subword_prefix="##",
        show_progress=False,
    )
    tokenizer.train_from_iterator(paragraphs(), trainer)
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    text = "".join(f"{piece}\n" for piece, _ in pieces)
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))
    return Vocabulary.read(path, lowercase=lowercase)


def _characters(paragraphs: Iterable[str], tokenizer: Tokenizer, most: int) -> Sequence[str]:
    """The most frequent characters of the normalised text, in the order of their code points."""
    raw = np.zeros(0x110000, dtype=np.int64)
    for block in _blocks(paragraphs):
        codes = np.frombuffer(block.encode("utf-32-le"), dtype=np.uint32)
        found, counts = np.unique(codes, return_counts=True)
        raw[found] += counts
    normalised = dict[str, int]()
    for code in np.flatnonzero(raw):
        for one in tokenizer.normalizer.normalize_str(chr(code)):
            normalised[one] = normalised.get(one, 0) + int(raw[code])
    ranked = sorted((-count, one) for one, count in normalised.items() if not one.isspace())
    return sorted(one for _, one in ranked[:most])


def _blocks(paragraphs: Iterable[str]) -> Iterator[str]:
    """Many paragraphs at once."""
    block, size = list[str](), 0
    for one in paragraphs:
        block.append(one)
        size += len(one)
        if size > 1 << 20:
            yield " ".join(block)
            block, size = [], 0
    yield " ".join(block)


def _stands_inside(character: str, tokenizer: Tokenizer) -> bool:
    """Whether words go on with it: punctuation and Chinese characters are words of their own."""
    text = tokenizer.normalizer.normalize_str(f"a{character}")
    return len(tokenizer.pre_tokenizer.pre_tokenize_str(text)) == 1
