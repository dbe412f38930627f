"""Sizes of runs: the bytes of a run's folder."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def size_of(folder: str | Path) -> int:
    """Add the sizes of all files below a folder. Files that vanish meanwhile count nothing."""
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += Path(parent, name).lstat().st_size
    return size


def size_text(size: int) -> str:
    """Write a size in the largest unit of 1,000 bytes, with three digits or fewer."""
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 9.95 else f"{value:.1f} {unit}"
