"""Make text of data sets safe to read on a page: show invisible characters as code points, and cut long text."""

from __future__ import annotations

import unicodedata

LONGEST = 1_200
"""Largest number of characters of a text in a report. The number of characters after them is given."""

_KEPT = "\n\t\u200c\u200d"
"""Control and format characters that are left as they are: white space, and the joiners of scripts and emoji."""


def visible(text: str, longest: int = LONGEST) -> str:
    """Return a text without characters that hide or reorder other characters, cut to `longest` characters.

    Control and format characters, such as marks that change the direction of writing, are replaced by their code
    points, for example ⟨U+202E⟩.
    """
    cut = text[:longest]
    more = len(text) - longest
    shown = cut if cut.isprintable() else "".join(map(_shown, cut))
    return f"{shown} … [{more:,} more characters]" if more > 0 else shown


def _shown(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
        return character
    return f"⟨U+{ord(character):04X}⟩"
