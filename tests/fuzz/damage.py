"""Damaged files: what a strategy makes of a right file of any format."""

from collections.abc import Sequence

from hypothesis import strategies as st

SMALL = (
    *(bytes([value]) for value in (0, 0x1B, 0x7F, 0xC3, 0xFF)),
    *b"\" ' \t \n \r , : ; = # - . / \\ ~ { } [ ] ( ) < > | %".split(b" "),
    *(b"\t\t", b"\n\n", b"\r\n", b" ", b"''", b'"""', b"\x1b[31m", b"\xed\xa0\x80", b"\\ud83d", b"\xff\xfe"),
    *(text.encode() for text in ("\ufeff", "\u0663", "\u2028", "\x85", "\u00a0", "\u202e", "\U0001f600", "é", "ﬁ")),
    *b"0 1 -1 00 1e999 1_0 0x1 NaN inf null true false {} [] [[]] {{}} {x} $x %s ../ a B-PER I-PER -DOCSTART-".split(),
    *(b"9" * 20, b"9" * 5_000, b"2" * 400),
)
"""Short pieces that mean something in one of the formats, or that no format expects."""
LARGE = (
    b"x" * 2_000_000,
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b"a=[" * 30_000,
    b"/" * 70_000,
    b"\n" * 300_000,
    b"a.b." * 9_999,
)
"""Long lines, deep brackets and many lines."""

Edit = tuple[str, int, int, bytes]


def damaged(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Make strategies of files that were right before: cut, doubled, with foreign pieces, or foreign."""
    places, lengths = st.integers(0, 2**16), st.integers(0, 40)
    pieces = st.one_of(st.sampled_from(SMALL), st.binary(min_size=1, max_size=8), st.sampled_from((*SMALL, *LARGE)))
    kinds = st.sampled_from(["insert", "replace", "delete", "double", "cut"])
    edit = st.tuples(kinds, places, lengths, pieces)
    edits = st.one_of(edit.map(lambda single: [single]), st.lists(edit, max_size=4))
    edited = st.builds(_edited, st.sampled_from(tuple(seeds)), edits)
    joined = st.lists(st.sampled_from(SMALL), max_size=40).map(b"".join)
    return st.one_of(edited, edited, edited, edited, joined, st.binary(max_size=300))


def _edited(content: bytes, edits: Sequence[Edit]) -> bytes:
    for kind, place, length, piece in edits:
        at = place * (len(content) + 1) // (2**16 + 1)
        before, middle, after = content[:at], content[at : at + length], content[at + length :]
        content = {
            "insert": before + piece + middle + after,
            "replace": before + piece + after,
            "delete": before + after,
            "double": before + middle * 3 + after,
            "cut": before,
        }[kind]
    return content
