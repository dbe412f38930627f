"""Text of data sets for a page: invisible and direction-changing characters become visible, long text is cut."""

from __future__ import annotations

import unicodedata

LONGEST = 1_200
"""Characters of a text that a report shows. The rest is counted."""

_KEPT = "\n\t\u200c\u200d"
"""Control and format characters that are left as they are: white space, and the joiners of scripts and emoji."""


def visible(text: str, longest: int = LONGEST) -> str:
    """Return a text without characters that hide or reorder others, cut to a length.

    Control and format characters, such as the marks that change the direction of writing, become their code points.
    """
    cut, more = text[:longest], len(text) - longest
    shown = cut if cut.isprintable() else "".join(map(_shown, cut))
    return f"{shown} … [{more:,} more characters]" if more > 0 else shown


def _shown(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
        return character
    return f"⟨U+{ord(character):04X}⟩"
