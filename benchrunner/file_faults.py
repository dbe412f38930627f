"""What is wrong with a file, told in sentences that a person can act on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from benchrunner.errors import RequestError

SHOWN = 3
"""How many of many like faults are shown with their lines; the others are counted."""


def quoted(text: object, width: int = 60) -> str:
    """A found value as it can be shown anywhere: quoted, escaped and not longer than a line."""
    written = repr(str(text))
    return written if len(written) <= width else f"{written[: width - 4]}...'"


def some(names: Sequence[str]) -> str:
    """'a, b, c and 5 more'."""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def either(names: Sequence[str]) -> str:
    """'0 or 1'; 'a, b or c'."""
    return " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


@final
class Faults:
    """The problems of one file; a fault that many lines share is one sentence with the first lines and the count."""

    def __init__(self, file: str, unit: str = "line") -> None:
        self.file, self.unit = file, unit
        self._lines: dict[str, list[tuple[int | str, str]]] = {}
        self._counts: dict[str, int] = {}

    def say(self, sentence: str) -> None:
        """A fault of the file as a whole."""
        self._lines.setdefault(sentence, [])

    def at(self, line: int | str, found: object, expected: str) -> None:
        """A fault of one line, or of another unit by its name.

        `expected` must not quote what was found, or like faults could not be told together.
        """
        lines = self._lines.setdefault(expected, [])
        if len(lines) < SHOWN:
            lines.append((line, quoted(found)))
        self._counts[expected] = self._counts.get(expected, 0) + 1

    def sentences(self) -> list[str]:
        return [self._sentence(expected, lines) for expected, lines in self._lines.items()]

    def refuse(self) -> None:
        """Raise a `RequestError` with all of them, if there are any."""
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
