"""Checks of an encoder's tokenizer: sequences, pieces with their characters, words, and the frame of special tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from benchrunner import PluginError
from benchrunner.engine import Encoder, Part, Pieces, Sequences
from benchrunner_kit.testing.contract import Findings

TEXTS = (
    "the river was bright",
    "a walk by the river",
    "we had a gloomy day",
    "rain",
    "The café's menu: 12 dishes, (no) soup!",
    "in the evening the old man walked by the river and we had a long and merry talk",
)
"""Texts of several lengths, two of them with equally many words; one has other characters than ASCII."""
OTHERS = ("it was", "the sun", "a very long second text by the river", "x", "no", "then we went home")
"""The second texts of pairs."""
SHORT = 8
"""A `max_length` that cuts most of the texts."""

T = TypeVar("T")


def check_tokenizer(encoder: Encoder, findings: Findings) -> None:
    """Check `assemble`, and `pieces`, `words` and `frame` if the encoder has them."""
    with findings.step("to assemble sequences"):
        longest = encoder.max_length
        for second in (None, OTHERS):
            _check_sequences(encoder, second, longest, findings)
            _check_sequences(encoder, second, SHORT, findings)
        many = encoder.assemble([" ".join(TEXTS * (longest // len(TEXTS) + 1))], None, longest)
        if not 0 < len(many.tokens) <= longest:
            findings.add(
                f"assemble keeps {len(many.tokens)} tokens of a long text, more than max_length, {longest}: cut it"
            )
        if not len(encoder.assemble([""], None, longest).tokens):
            findings.add("assemble gives no token for an empty text: give each sequence one token at least")
    if not encoder.tokenizer_fingerprint or not isinstance(encoder.tokenizer_fingerprint, str):
        findings.add("`tokenizer_fingerprint` must be a text that changes whenever texts become other tokens")
    pieces = _if_offered(encoder.pieces, TEXTS, findings, "pieces")
    if pieces is not None:
        with findings.step("to cut texts into pieces"):
            if not _is_well_formed(pieces, findings):
                return
            _check_spans(pieces, findings)
            _check_pieces_alone(encoder, pieces, findings)
        with findings.step("to cut words into pieces"):
            _check_words(encoder, findings)
        with findings.step("to join pieces with the frame"):
            _check_frame(encoder, pieces, findings)


def _if_offered(method: Callable[[Sequence[str]], T], texts: Sequence[str], findings: Findings, name: str) -> T | None:
    """Call a method that an encoder need not have; None if the encoder does not have it, or if the method fails."""
    with findings.step(f"`{name}`"):
        try:
            return method(texts)
        except PluginError:  # the base class says so
            return None
    return None


def _check_sequences(encoder: Encoder, second: Sequence[str] | None, length: int, findings: Findings) -> None:
    """Check sequences of one length: their arrays, their number of tokens, and each text alone against all texts."""
    found = encoder.assemble(TEXTS, second, length)
    kind = "texts" if second is None else "pairs"
    starts = np.asarray(found.starts)
    if (
        len(starts) != len(TEXTS) + 1
        or starts[0] != 0
        or starts[-1] != len(found.tokens)
        or (np.diff(starts) < 1).any()
    ):
        findings.add(
            f"assemble gives wrong `starts` for {len(TEXTS)} {kind}: give {len(TEXTS) + 1} rising numbers, from 0 to "
            "the number of tokens"
        )
        return
    if len(found.segments) != len(found.tokens):
        findings.add(
            f"assemble gives {len(found.segments)} segments for {len(found.tokens)} tokens: give each its segment"
        )
    if (np.asarray(found.tokens) < 0).any():
        findings.add("assemble gives negative token ids: ids count from 0")
    if (np.diff(starts) > length).any():
        findings.add(
            f"assemble keeps more tokens than max_length ({int(np.diff(starts).max())} of {length}): cut texts"
        )
    for index in range(len(TEXTS)):
        alone = encoder.assemble([TEXTS[index]], None if second is None else [second[index]], length)
        if not np.array_equal(alone.tokens, found.tokens[starts[index] : starts[index + 1]]):
            findings.add(
                f"assemble gives other tokens for '{TEXTS[index]}' alone than among {len(TEXTS)} {kind}: let each "
                "text's tokens depend on this text alone"
            )
            break


def _is_well_formed(pieces: Pieces, findings: Findings) -> bool:
    """Check the arrays of pieces."""
    starts = np.asarray(pieces.starts)
    count = len(pieces.tokens)
    good = len(starts) == len(TEXTS) + 1 and starts[0] == 0 and starts[-1] == count and (np.diff(starts) >= 0).all()
    if not good:
        findings.add(
            f"pieces gives wrong `starts` for {len(TEXTS)} texts: give {len(TEXTS) + 1} rising numbers, from 0 to the "
            "number of pieces"
        )
    if np.asarray(pieces.spans).shape != (count, 2):
        findings.add(f"pieces gives `spans` of the shape {np.shape(pieces.spans)}: give (pieces, 2), here {(count, 2)}")
        return False
    return bool(good)


def _check_spans(pieces: Pieces, findings: Findings) -> None:
    """Check that pieces know their characters: inside of the text, in order, and all letters and digits covered."""
    for index, text in enumerate(TEXTS):
        spans = np.asarray(pieces.spans)[pieces.starts[index] : pieces.starts[index + 1]].tolist()
        shown = ", ".join(f"{text[begin:end]!r} ({begin}-{end})" for begin, end in spans[:4])
        advice = (
            f"the pieces of '{text}' begin with {shown}; give each piece its first character and the character after "
            "its last, counted in characters, not bytes, of the text as it was given"
        )
        if any(not 0 <= begin <= end <= len(text) for begin, end in spans):
            findings.add(f"spans of pieces are outside of their text: {advice}")
            return
        if spans != sorted(spans):
            findings.add(f"spans of pieces are not in the order of the text: {advice}")
            return
        covered: set[int] = set()
        for begin, end in spans:
            covered.update(range(begin, end))
        lost = [place for place, character in enumerate(text) if character.isalnum() and place not in covered]
        if lost:
            findings.add(f"no piece covers the character {text[lost[0]]!r} at {lost[0]}: {advice}")
            return
        for begin, end in spans:
            if text[begin:end].strip() and " " in text[begin:end].strip():
                findings.add(f"the span of a piece covers two words, {text[begin:end]!r}: {advice}")
                return


def _check_pieces_alone(encoder: Encoder, pieces: Pieces, findings: Findings) -> None:
    """Compare the pieces of each text alone with those of all texts together."""
    for index, text in enumerate(TEXTS):
        alone = encoder.pieces([text])
        place = slice(pieces.starts[index], pieces.starts[index + 1])
        for name in ("tokens", "spans"):
            if not np.array_equal(getattr(alone, name), getattr(pieces, name)[place]):
                findings.add(
                    f"pieces gives other {name} for '{text}' alone than among other texts: cut each text by itself"
                )
                return


def _check_words(encoder: Encoder, findings: Findings) -> None:
    """Compare the pieces of single words with those of the sentence that they make."""
    words = TEXTS[-1].split()
    single = encoder.words(words)
    whole = encoder.pieces([TEXTS[-1]])
    if len(single.starts) != len(words) + 1:
        findings.add(f"words gives `starts` for {len(single.starts) - 1} words, not {len(words)}: each word is a text")
        return
    first = int(single.starts[1])  # the first word of a text may be cut in another way than a word inside of it
    inside = np.asarray(single.tokens)[first:]
    if len(inside) and not np.array_equal(inside, np.asarray(whole.tokens)[len(whole.tokens) - len(inside) :]):
        findings.add(
            "words gives other tokens than the same words have inside a sentence: put a space before each word if the "
            "tokenizer tells words by it"
        )


def _check_frame(encoder: Encoder, pieces: Pieces, findings: Findings) -> None:
    """Compare pieces that the frame joins with what `assemble` makes of the same texts."""
    try:
        frame = encoder.frame
    except PluginError:
        findings.add("the encoder has pieces and no `frame`: say which special tokens stand around them")
        return
    others = encoder.pieces(OTHERS)
    parts = [Part(part.tokens, part.starts[:-1], part.counts) for part in (pieces, others)]
    for second, given in ((None, parts[:1]), (OTHERS, parts)):
        joined = frame.join(*given).sequences
        expected = encoder.assemble(TEXTS, second, encoder.max_length)
        if np.diff(joined.starts).max() > encoder.max_length:
            continue  # `assemble` cuts, `join` does not
        name = _first_difference(joined, expected)
        if name:
            what = "single texts" if second is None else "pairs of texts"
            findings.add(
                f"`frame` joins the pieces of {what} to other {name} than assemble makes of these texts "
                f"({getattr(joined, name)[:6].tolist()} and {getattr(expected, name)[:6].tolist()} at the beginning): "
                "let `frame` have the special tokens and segments of `assemble`"
            )


def _first_difference(joined: Sequences, expected: Sequences) -> str:
    """Name the first array in which two values of `Sequences` differ; empty if they are equal."""
    for name in ("starts", "tokens", "segments"):
        if not np.array_equal(getattr(joined, name), getattr(expected, name)):
            return name
    return ""
