"""What a verification finds: sentences about differences, and remarks about what does not count as one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final


@final
class Findings:
    """Collects sentences, each once, in the order in which they are found."""

    def __init__(self) -> None:
        self._differences: dict[str, None] = {}
        self._remarks: dict[str, None] = {}

    def differ(self, *sentences: str) -> None:
        """Add what is not as the folder says, or what could not be verified."""
        self._differences |= dict.fromkeys(sentences)

    def differ_all(self, sentences: Iterable[str]) -> None:
        """Add several differences."""
        self.differ(*sentences)

    def remark(self, sentence: str) -> None:
        """Add what a reader should know although nothing differs."""
        self._remarks[sentence] = None

    @property
    def differences(self) -> tuple[str, ...]:
        """All differences."""
        return tuple(self._differences)

    @property
    def remarks(self) -> tuple[str, ...]:
        """All remarks."""
        return tuple(self._remarks)
