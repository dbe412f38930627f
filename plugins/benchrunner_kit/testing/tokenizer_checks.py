"""Checks of an encoder's tokenizer: sequences, pieces with their characters, words, and the frame of special tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, product
from typing import TypeVar

import numpy as np

from benchrunner import PluginError
from benchrunner.engine import Encoder, Pieces, Sequences
from benchrunner_kit.testing.contract import Faults, check_borders, check_count, found

TEXTS = (
    "the river was bright",
    "a walk by the river",
    "we had a gloomy day",
    "",
    "rain",
    "The café's menu: 12 dishes, (no) soup!",
    "in the evening the old man walked by the river and we had a long and merry talk",
)
"""Texts of several lengths, two of them with equally many words; one has other characters than ASCII."""
OTHERS = ("it was", "the sun", "a very long second text by the river", "the end of the day", "x", "no", "we went home")
"""The second texts of pairs."""
SHORT = 8
"""A `max_length` that cuts most of the texts."""


T = TypeVar("T", Sequences, Pieces)


def check_tokenizer(encoder: Encoder) -> Faults:
    """Check `assemble`, and `pieces`, `words` and `frame` if the encoder has them."""
    kinds = product((None, OTHERS), (encoder.max_length, SHORT))
    checked = chain.from_iterable(_check_sequences(encoder, second, length) for second, length in kinds)
    yield from found("assembling sequences", checked)
    if not encoder.tokenizer_fingerprint or not isinstance(encoder.tokenizer_fingerprint, str):
        yield "`tokenizer_fingerprint` must be a text that changes whenever texts become other tokens"
    yield from found("cutting texts into pieces", _check_pieces(encoder))


def _check_sequences(encoder: Encoder, second: Sequence[str] | None, length: int) -> Faults:
    """Check sequences of one length, of single texts or of pairs."""

    def assembled(chosen: slice) -> Sequences:
        return encoder.assemble(TEXTS[chosen], None if second is None else second[chosen], length)

    sequences = _cut_alike("assemble", assembled, "segments", least=1)
    if sequences.tokens.min() < 0:
        yield "assemble gives negative token ids: ids count from 0"
    longest = np.diff(sequences.starts).max()
    if longest > length:
        yield f"assemble keeps more tokens than max_length ({longest} of {length}): cut texts"


def _cut_alike(name: str, cut: Callable[[slice], T], beside: str, *, least: int) -> T:
    """Return what a method makes of all texts; raise a `PluginError` unless it makes the same of each text alone.

    `beside` names the array that has a value for each token, like the tokens themselves.
    """
    whole = cut(slice(None))
    check_borders(f"`starts` of {name}", whole.starts, len(TEXTS), len(whole.tokens), least=least)
    check_count(f"`{beside}` of {name}", getattr(whole, beside), len(whole.tokens), "tokens")
    for index, text in enumerate(TEXTS):
        alone = cut(slice(index, index + 1))
        place = slice(*whole.starts[index : index + 2])
        for array in ("tokens", beside):
            if not np.array_equal(getattr(alone, array), getattr(whole, array)[place]):
                raise PluginError(
                    f"{name} gives other {array} for '{text}' alone than among others: read one text each"
                )
    return whole


def _check_pieces(encoder: Encoder) -> Faults:
    try:
        encoder.pieces(TEXTS)
    except PluginError:  # the base class says so
        return
    pieces = _cut_alike("pieces", lambda chosen: encoder.pieces(TEXTS[chosen]), "spans", least=0)
    for index, text in enumerate(TEXTS):
        spans = pieces.spans[slice(*pieces.starts[index : index + 2])].tolist()
        fault = _fault_of_spans(text, spans)
        if fault:
            shown = ", ".join(f"{text[begin:end]!r} ({begin}-{end})" for begin, end in spans[:4])
            raise PluginError(
                f"{fault}: the pieces of '{text}' begin with {shown}; give each piece its first character and the "
                "character after its last, counted in characters, not bytes, of the text as it was given"
            )
    yield from found("cutting words into pieces", _check_words(encoder))
    yield from found("joining pieces with the frame", _check_frame(encoder, pieces))


def _fault_of_spans(text: str, spans: list[list[int]]) -> str:
    """Say what is wrong with the characters of the pieces of a text; empty if nothing is."""
    covered = set[int]()
    for begin, end in spans:
        if not 0 <= begin <= end <= len(text):
            return "spans of pieces are outside of their text"
        if " " in text[begin:end].strip():
            return f"the span of a piece covers two words, {text[begin:end]!r}"
        covered.update(range(begin, end))
    for place, character in enumerate(text):
        if character.isalnum() and place not in covered:
            return f"no piece covers the character {character!r} at {place}"
    return "" if spans == sorted(spans) else "spans of pieces are not in the order of the text"


def _check_words(encoder: Encoder) -> Faults:
    """Compare the pieces of single words with those of the sentence that they make."""
    words = TEXTS[-1].split()
    single = encoder.words(words)
    check_count("`words`", single.starts[1:], len(words), "words")
    whole = encoder.pieces(TEXTS[-1:]).tokens
    inside = single.tokens[single.starts[1] :]  # the first word of a text may be cut in another way
    if not np.array_equal(inside, whole[len(whole) - len(inside) :]):
        yield (
            "words gives other tokens than the same words have inside a sentence: put a space before each word if the "
            "tokenizer tells words by it"
        )


def _check_frame(encoder: Encoder, pieces: Pieces) -> Faults:
    """Compare pieces that the frame joins with what `assemble` makes of the same texts."""
    parts = [pieces.cut(pieces.counts, from_end=False)]
    for second, what in ((None, "single texts"), (OTHERS, "pairs of texts")):
        if second is not None:
            others = encoder.pieces(second)
            parts.append(others.cut(others.counts, from_end=False))
        joined = encoder.frame.join(*parts).sequences
        expected = encoder.assemble(TEXTS, second, encoder.max_length)
        if np.diff(joined.starts).max() > encoder.max_length:
            continue  # `assemble` cuts, `join` does not
        for name in ("starts", "tokens", "segments"):
            made, wanted = getattr(joined, name), getattr(expected, name)
            if not np.array_equal(made, wanted):
                yield (
                    f"`frame` joins the pieces of {what} to other {name} than assemble makes of these texts "
                    f"({made[:6].tolist()} and {wanted[:6].tolist()} at the beginning)"
                )
                break
