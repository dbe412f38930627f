"""Sizes of runs: the bytes of a run's folder by what they hold."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

KINDS = {
    "model": "weights",
    "checkpoint": "checkpoints",
    "state": "checkpoints",
    "outputs": "outputs",
    "predictions": "predictions",
}
"""Folder in a run's folder -> what it holds; everything else are records and logs."""
OTHER = "records"


@final
@dataclass(frozen=True)
class Sizes:
    """Bytes of a run folder."""

    of_kinds: Mapping[str, int]
    """Bytes of `weights`, `checkpoints`, `outputs`, `predictions` and `records`."""

    @property
    def total(self) -> int:
        """Bytes of all files."""
        return sum(self.of_kinds.values())

    def as_json(self) -> dict[str, Any]:
        """Return the sizes as JSON values."""
        return {"bytes": self.total, **self.of_kinds}


def sizes_of(folder: str | Path) -> Sizes:
    """Measure the folder of one run. Files that vanish meanwhile count nothing."""
    sizes = dict.fromkeys((*KINDS.values(), OTHER), 0)
    for entry in _entries(folder):
        sizes[KINDS.get(entry.name, OTHER)] += _size(entry)
    return Sizes(sizes)


def size_text(size: int) -> str:
    """Write a size in the largest unit of 1,000 bytes, with three digits or fewer."""
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 9.95 else f"{value:.1f} {unit}"


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    """List a folder; empty if it cannot be read or vanished."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _size(entry: os.DirEntry[str]) -> int:
    """Add the bytes of the files below an entry of a folder, or take those of the entry itself. Links are no files."""
    if entry.is_dir(follow_symlinks=False):
        return sum(map(_size, _entries(entry.path)))
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0
