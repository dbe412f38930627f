"""A reader of one kind of file, with right files to begin with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchrunner import Workspace

NOWHERE = Workspace(Path("no-runs"), Path("no-cache"))


@dataclass(frozen=True)
class Reader:
    """A reader of one kind of file."""

    read: Callable[[Path], object]
    """Reads the file. What it returns is not checked, except for a list: sentences that name the file."""
    file: str
    """Name of the file; it may have folders."""
    seeds: Sequence[bytes]
    """Right files."""
    named: str = ""
    """What errors name instead of the file's name."""
    further: dict[str, bytes] = field(default_factory=dict)
    """Right files beside the damaged file."""
