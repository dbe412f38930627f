"""The log of a training: a file of JSON lines, each with the figures of a step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchrunner.io.files import read_bytes, write_atomically

Line = Mapping[str, Any]
"""The number of a step, counted from 1, and its figures."""


def append(path: Path, step: int, figures: Mapping[str, Any]) -> None:
    """Add a line with the figures of a step."""
    line = {"step": step, **figures}
    with path.open("a", encoding="utf-8") as file:
        file.write(_text([line]))


def read(path: Path) -> list[Line]:
    """Read all whole lines; a missing file has none. Damaged lines and half a line of a killed process are skipped."""
    lines = list[Line]()
    if not path.exists():
        return lines
    content = read_bytes(path).decode(errors="replace")
    for text in content.split("\n"):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):  # half a line, or a damaged line
            continue
        if isinstance(line, dict) and isinstance(line.get("step"), int):
            lines.append(line)
    return lines


def cut_back(path: Path, step: int) -> None:
    """Remove the lines after a step, which will be written again, or create an empty log."""
    kept = [line for line in read(path) if line["step"] <= step]
    write_atomically(path, lambda part: part.write_text(_text(kept), encoding="utf-8"))


def _text(lines: Iterable[Line]) -> str:
    return "".join(f"{json.dumps(line)}\n" for line in lines)
