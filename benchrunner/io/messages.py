"""Messages about values, names and files: values are quoted in a line, names listed, faults of a file collected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from benchrunner.console.printing import escaped
from benchrunner.errors import RequestError, closest_names

_NAME_WIDTH = 80
"""The most characters of a name in a list of names."""
SHOWN = 3
"""Number of equal faults that are shown with their lines; the others are counted."""


def quoted(value: object, width: int = 60) -> str:
    """Write a value for a message as Python writes it, cut to one line of so many characters."""
    written = " ".join(map(str.strip, repr(value).splitlines()))
    if len(written) > width:
        written = f"{written[: width - 4]}...{written[-1]}"
    return escaped(written)


def some_names(names: Iterable[str], most: int = 20) -> str:
    """List the first names and count the others: 'a, b and 5 more'; long and unprintable ones are `quoted`."""
    known = list(names)
    listed = [
        name if name.isprintable() and len(name) <= _NAME_WIDTH else quoted(name, _NAME_WIDTH) for name in known[:most]
    ]
    more = f" and {len(known) - most:,} more" if len(known) > most else ""
    return (", ".join(listed) + more) or "none"


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Suggest the names that a user may have meant, as a sentence after a blank; `otherwise` if none is close."""
    close = [text if text.isprintable() else quoted(text) for text in closest_names(name, known)]
    return f" Did you mean {' or '.join(close)}?" if close else otherwise


@final
class Faults:
    """Faults of one file. A fault that many lines share becomes one sentence with the first lines and their count."""

    def __init__(self, file: str, unit: str = "line") -> None:
        self.file, self.unit = file, unit
        self._lines: dict[str, list[tuple[int | str, str]]] = {}
        self._counts: dict[str, int] = {}

    def say(self, sentence: str) -> None:
        """Add a fault of the file as a whole."""
        self._lines.setdefault(sentence, [])

    def at(self, line: int | str, found: object, expected: str) -> None:
        """Add a fault of one line, or of another unit by its name.

        `expected` must not quote the found value: faults with equal `expected` are reported together.
        """
        lines = self._lines.setdefault(expected, [])
        if len(lines) < SHOWN:
            lines.append((line, quoted(str(found))))
        self._counts[expected] = self._counts.get(expected, 0) + 1

    def sentences(self) -> list[str]:
        """Give one sentence for each kind of fault."""
        return [self._sentence(expected, lines) for expected, lines in self._lines.items()]

    def refuse(self) -> None:
        """Raise a `RequestError` with a sentence for each kind of fault; do nothing where no fault was found."""
        if sentences := self.sentences():
            raise RequestError("\n".join(sentences))

    def _sentence(self, expected: str, lines: list[tuple[int | str, str]]) -> str:
        if not lines:
            return f"{self.file}: {expected}."
        (first, found), *others = lines
        place = f"{self.file}:{first}" if self.unit == "line" else f"{self.file}, {self.unit} {first}"
        text = f"{place}: found {found}; {expected}."
        if others:
            also = ", ".join(f"{self.unit} {line} ({found})" for line, found in others)
            text += f" Also {also}: {self._counts[expected]:,} {self.unit}s in all."
        return text
