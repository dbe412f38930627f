"""Findings of a verification: sentences about differences, remarks on what differs in nothing, and unreadable files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import final

from benchrunner import PluginError, RequestError
from benchrunner_share.verifying.received_folder import UnreadableFile


@contextlib.contextmanager
def understood(place: str) -> Iterator[None]:
    """Turn errors from missing or wrong values in the `with` block into an `UnreadableFile` that names the place."""
    try:
        yield
    except UnreadableFile:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        raise UnreadableFile(f"{place} does not hold what 'benchrunner share' writes ({reason!a}).") from None
    except (PluginError, RequestError) as error:
        raise UnreadableFile(f"{place}: {error}") from None


@final
class Findings:
    """Collects sentences, each once, in the order in which they are found."""

    def __init__(self) -> None:
        self.differences = dict[str, None]()
        self.unverified = dict[str, None]()
        self.remarks = dict[str, None]()

    def differ(self, sentence: str) -> None:
        """Add a difference: a claim of the folder that is not true, or that the folder gives no way to verify."""
        self.differences[sentence] = None

    def differ_all(self, sentences: Iterable[str]) -> None:
        """Add several differences."""
        self.differences |= dict.fromkeys(sentences)

    @contextlib.contextmanager
    def faults_differ(self) -> Iterator[None]:
        """Add a file that cannot be read in the `with` block as a difference."""
        try:
            yield
        except UnreadableFile as fault:
            self.differ(str(fault))

    def leave_unverified(self, sentence: str) -> None:
        """Add a claim of the folder that could not be computed here, with the reason, such as missing data."""
        self.unverified[sentence] = None

    def remark(self, sentence: str) -> None:
        """Add what a reader should know although nothing differs."""
        self.remarks[sentence] = None
