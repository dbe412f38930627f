"""Learn a WordPiece vocabulary from a corpus: the same text always gives the same vocabulary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from benchrunner import DataError
from benchrunner.engine import write_atomically
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.tokenizer import SPECIAL

CHARACTERS = 1000
"""Most characters that have pieces of their own. Words with a rarer character become [UNK]."""
_LONGEST = 1000
"""Characters of a word from which on it is cut: the trainer's time grows with the square of a word's length, and
WordPiece reads words of over 100 characters as [UNK]."""
_LONG = re.compile(rf"\S{{{_LONGEST}}}")


def learn_vocabulary(
    paragraphs: Callable[[], Iterable[str]], path: Path, *, size: int, lowercase: bool = True
) -> Vocabulary:
    """Learn `size` pieces and write them as vocab.txt. `paragraphs` gives the whole corpus and is called twice."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    characters = _frequent_characters(paragraphs(), tokenizer, min(CHARACTERS, size // 4))
    if not characters:
        raise DataError("The corpus is empty: no vocabulary can be learned from it.")
    # The trainer gives ids to single characters in an order that changes from process to process, and decides ties by
    # id. Special tokens have fixed ids, so the characters are declared as special tokens. The trainer adds these to the
    # tokenizer after training, so the text is not searched for them.
    inside = (f"##{character}" for character in characters if _can_continue_word(character, tokenizer))
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=[*SPECIAL, *characters, *inside],
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        continuing_subword_prefix="##",
        show_progress=False,
    )
    tokenizer.train_from_iterator(map(_without_long_words, paragraphs()), trainer)
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    text = "".join(f"{piece}\n" for piece, _ in pieces)
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))
    return Vocabulary.read(path, lowercase=lowercase)


def _frequent_characters(paragraphs: Iterable[str], tokenizer: Tokenizer, most: int) -> Sequence[str]:
    """Give the most frequent characters of the normalised text, in the order of their code points."""
    raw_counts = Counter[str]()
    for paragraph in paragraphs:
        raw_counts.update(paragraph)
    normalised = Counter[str]()
    for raw, count in raw_counts.items():
        for character in tokenizer.normalizer.normalize_str(raw):
            normalised[character] += count
    ranked = sorted((-count, character) for character, count in normalised.items() if not character.isspace())
    return sorted(character for _, character in ranked[:most])


def _without_long_words(paragraph: str) -> str:
    """Put blanks into words that are longer than `_LONGEST`."""
    if len(paragraph) <= _LONGEST or max(map(len, paragraph.split()), default=0) <= _LONGEST:
        return paragraph
    return _LONG.sub(r"\g<0> ", paragraph)


def _can_continue_word(character: str, tokenizer: Tokenizer) -> bool:
    """Whether a word can continue with a character; punctuation and Chinese characters are words of their own."""
    text = tokenizer.normalizer.normalize_str(f"a{character}")
    return len(tokenizer.pre_tokenizer.pre_tokenize_str(text)) == 1
