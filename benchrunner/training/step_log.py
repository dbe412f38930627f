"""The log of a training: a line of JSON for a step, cut back to where a run goes on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchrunner.files import write_atomically

Line = Mapping[str, Any]
"""`step`, counted from 1, and figures of it."""


def append(path: Path, step: int, figures: Mapping[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(_text([{"step": step, **figures}]))


def read(path: Path) -> list[Line]:
    """All lines, but the half one of a process that was killed; none where nothing was logged yet."""
    found = list[Line]()
    for text in path.read_bytes().decode().split("\n") if path.exists() else []:
        try:
            line = json.loads(text)
        except ValueError:  # the half line
            continue
        if isinstance(line, dict) and isinstance(line.get("step"), int):
            found.append(line)
    return found


def cut_back(path: Path, step: int) -> None:
    """Forget what came after a step: it will come again. There is a log afterwards, if an empty one."""
    kept = _text(line for line in read(path) if line["step"] <= step)
    write_atomically(path, lambda part: part.write_text(kept, encoding="utf-8"))


def _text(lines: Iterable[Line]) -> str:
    return "".join(f"{json.dumps(line)}\n" for line in lines)
