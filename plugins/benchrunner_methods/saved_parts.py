"""The folder of a saved concatenation: a sub-folder for each part, and a file that lists them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchrunner import CheckpointError, read_json_object
from benchrunner.engine import write_json

LAYOUT = "concat.json"
"""Name of the file that lists the sub-folders."""


def write_layout(folder: Path, parts: Sequence[str]) -> None:
    """Write which sub-folders hold the parts of a concatenation, in their order."""
    write_json(folder / LAYOUT, {"parts": list(parts)})


def read_layout(folder: Path) -> list[Path]:
    """Return the folders of the parts of a saved concatenation, in their order."""
    file = folder / LAYOUT
    parts = read_json_object(file, error=CheckpointError).get("parts")
    if not isinstance(parts, list) or not all(isinstance(part, str) and Path(part).name == part for part in parts):
        raise CheckpointError(f"{file}: 'parts' must be a list of names of sub-folders.")
    return [folder / part for part in parts]
