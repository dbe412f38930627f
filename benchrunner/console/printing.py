"""Printing: texts of files and plugins are escaped and shortened here before they reach a terminal.

Every line that the core prints passes through this module; a test checks that no other module calls `print`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from benchrunner.console.standard_streams import own_output

if TYPE_CHECKING:
    from rich.console import Console

LINE_WIDTH = 2_000
"""The most characters of a printed line: a screen of text. The middle of a longer line is left out."""
TEXT_LINES = 200
"""The most lines of a printed text. The middle of a longer text is left out."""
_KEPT = frozenset("\n\t\u00a0\u3000\u200c\u200d")
"""Characters that are printed although Python does not call them printable: line feeds, tabs, wide blanks, and the
joiners that Persian, Indian scripts and emoji need."""


def printable(text: str, width: int = LINE_WIDTH) -> str:
    """Escape characters that a terminal would obey or hide, and shorten what is longer than a screen.

    Line feeds and tabs are kept. Escaping and shortening a text twice is the same as once.
    """
    if len(text) <= width and text.isprintable():
        return text
    lines = text.split("\n")
    if len(lines) > TEXT_LINES:
        kept = TEXT_LINES // 2 - 1
        lines = [*lines[:kept], f"... ({len(lines) - 2 * kept:,} lines) ...", *lines[-kept:]]
    return "\n".join(_printable_line(line, width) for line in lines)


def escaped(text: str) -> str:
    r"""Escape characters that a terminal would obey or hide as `\x1b` or `\u202e`, and keep the length of the text."""
    return text if text.isprintable() else "".join(map(_escaped_character, text))


def print_line(text: object = "") -> None:
    """Print a text and a line feed to standard output."""
    _write(sys.stdout, f"{printable(str(text))}\n")


def print_note(text: object = "") -> None:
    """Print a note, an error or a line of progress to standard error."""
    _write(sys.stderr, f"{printable(str(text))}\n")
    if sys.stderr is not None:
        sys.stderr.flush()


def print_data(text: str) -> None:
    """Print a text that another program may read, such as CSV or answers: unchanged unless a terminal shows it.

    The text goes to standard output also where that is reserved for it.
    """
    with own_output() as output:
        is_terminal = output is not None and output.isatty()
        _write(output, escaped(text) if is_terminal else text)


def new_console(**settings: Any) -> Console:
    """Return a console of rich that escapes and shortens the texts of tables and notes; `settings` are rich's own."""
    from rich.console import Console
    from rich.text import Text

    class SafeConsole(Console):
        def render_str(self, text: str, *, markup: bool | None = None, **settings: Any) -> Text:
            if markup is False:
                text = printable(text)
            elif len(text) > LINE_WIDTH:  # without the end: a tag that closes but never opened is an error to rich
                text = f"{text[:LINE_WIDTH]}... ({len(text):,} characters)"
            return super().render_str(escaped(text), markup=markup, **settings)

    return SafeConsole(**settings)


def _printable_line(line: str, width: int) -> str:
    """Escape a line and cut it to a width. What is left out of its middle is counted: beginning and end matter."""
    shown = escaped(line if len(line) <= width else line[:width] + line[-width:])
    if len(shown) <= width:
        return shown
    mark = f" ... ({len(line):,} characters) ... "
    kept = max(0, width - len(mark))
    head = kept * 2 // 3
    tail = kept - head
    return shown[:head] + mark + shown[len(shown) - tail :]


def _escaped_character(character: str) -> str:
    if character.isprintable() or character in _KEPT:
        return character
    return character.encode("unicode_escape").decode()


def _write(stream: TextIO | None, text: str) -> None:
    if stream is not None:  # Python has no stream where the descriptor was closed, as in `benchrunner list >&-`
        stream.write(text)
