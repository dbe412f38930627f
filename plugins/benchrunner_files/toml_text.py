"""The text of a TOML file: its content, its identity, and the line on which a key stands."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, final

from benchrunner import RequestError, did_you_mean, json_files

BOARD = "board"
"""Key of the table with a leaderboard, which says nothing about the task."""
_HEADER = re.compile(r"\s*\[+\s*([^\]]+?)\s*\]+\s*(#.*)?")
_KEY = re.compile(r"\s*([\w.-]+|\"[^\"]*\"|'[^']*')\s*=")


@final
@dataclass(frozen=True)
class TomlText:
    """A TOML file as it was read: the same values after an edit of the file."""

    path: Path
    """Where the file lies: data files are searched in the same folder."""
    text: str

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file; raise a `RequestError` if there is none, or if it is not TOML."""
        if not path.is_file():
            what = "this is a folder, not a file" if path.is_dir() else "there is no such file"
            raise RequestError(f"{path}: {what}.{did_you_mean(path.name, files_beside(path, '*.toml'))}")
        json_files.read_toml(path, RequestError)  # refuses what is large, no text or nested too deep
        return cls(path, path.read_text(encoding="utf-8-sig"))

    @property
    def content(self) -> dict[str, Any]:
        """The values of the file."""
        return tomllib.loads(self.text.replace("\r\n", "\n"))

    @property
    def described(self) -> str:
        """The values that describe the task, which are all but the leaderboard's, as one text."""
        values = {key: value for key, value in self.content.items() if key != BOARD}
        return json.dumps(values, default=str)

    @property
    def task_name(self) -> str:
        """`file/STEM-HASH`: the hash is of all keys and values but the leaderboard's, not of comments and blanks."""
        stem = self.path.stem.lower()
        if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,60}", stem):
            raise RequestError(
                f"{self.path}: a task is named after its file, which must begin with a letter or digit and have at "
                "most 61 letters of a-z, digits and . _ -: rename the file."
            )
        return f"file/{stem}-{hashlib.sha256(self.described.encode()).hexdigest()[:6]}"

    def place(self, *keys: str) -> str:
        """Return `FILE:LINE` of the deepest of the keys that has a line of its own; `FILE` if none has."""
        lines = self._lines()
        file = shown_path(self.path, Path.cwd())
        for count in range(len(keys), 0, -1):
            if keys[:count] in lines:
                return f"{file}:{lines[keys[:count]]}"
        return file

    def located(self, message: str) -> str:
        """Put file and line before a message that begins with a key, such as `columns.a: ...`."""
        where = message.partition(": ")[0].partition(" ")[0]
        return f"{self.place(*where.split('.'))}: {message}"

    def _lines(self) -> Mapping[tuple[str, ...], int]:
        """Map each key, with those of its tables, to its line."""
        lines = dict[tuple[str, ...], int]()
        table: tuple[str, ...] = ()
        for number, line in enumerate(self.text.splitlines(), start=1):
            if header := _HEADER.fullmatch(line):
                table = tuple(part.strip("\"' ") for part in header[1].split("."))
                lines.setdefault(table, number)
            elif key := _KEY.match(line):
                parts = [key[1].strip("\"'")] if key[1][0] in "\"'" else key[1].split(".")
                lines.setdefault((*table, *parts), number)
        return lines


def shown_path(path: Path, folder: Path) -> str:
    """Return a path as a user in a folder gives it: relative to the folder if it lies below it."""
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def files_beside(path: Path, pattern: str = "*") -> list[str]:
    """List the names of the files in the folder of a path, at most a thousand."""
    try:
        names = [file.name for file in path.parent.glob(pattern)]
    except OSError:
        return []
    return sorted(names)[:1000]
