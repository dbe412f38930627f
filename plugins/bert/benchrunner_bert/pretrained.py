"""Models that were pre-trained here, by name: a small file each, in the folder of runs, says where one lies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

from benchrunner import RequestError, write_json

PREFIX = "pretrained/"
"""Of their names as backbones."""
_NAME = re.compile(r"[\w.-]+")


@final
@dataclass(frozen=True)
class Pretrained:
    """One finished model."""

    name: str
    """Behind the prefix."""
    folder: Path
    """Absolute; the model's own, in the hub's layout."""
    about: str

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """None where the file says nothing, or its model is gone."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            one = cls(path.stem, Path(found["folder"]), str(found["about"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return one if (one.folder / "config.json").is_file() else None


def listed(runs: Path) -> Iterator[Pretrained]:
    """All that are still there, by name."""
    for path in sorted((runs / "pretrained").glob("*.json")):
        if (one := Pretrained.read(path)) is not None:
            yield one


def found(name: str, runs: Path) -> Pretrained:
    """The one of a name, or the reason why there is none."""
    path = _path(name, runs)
    one = Pretrained.read(path) if path.is_file() else None
    if one is None:
        state = f"{path} leads to no model any more" if path.is_file() else f"{path.parent} knows no such model"
        raise RequestError(f"{PREFIX}{name}: {state}. 'benchrunner list backbones' has those that are there.")
    return one


def check_free(name: str, folder: Path, runs: Path) -> None:
    """A `RequestError` for a name that is none, or another model's."""
    path = _path(name, runs)
    one = Pretrained.read(path) if path.is_file() else None
    if one is not None and one.folder != folder.resolve():
        raise RequestError(f"The name {PREFIX}{name} belongs to {one.folder}: choose another with --name.")


def announce(name: str, folder: Path, about: str, runs: Path) -> None:
    """From now on the model has its name, unless another one has taken it meanwhile."""
    check_free(name, folder, runs)
    write_json(_path(name, runs), {"folder": str(folder.resolve()), "about": about})


def _path(name: str, runs: Path) -> Path:
    if not _NAME.fullmatch(name):
        raise RequestError(f"A model's name is made of letters, digits, '.', '_' and '-', unlike '{name}'.")
    return runs / "pretrained" / f"{name}.json"
