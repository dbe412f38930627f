"""Names of models that were pre-trained on this machine.

A small file for each model, in the folder of runs, says in which folder the model is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

from benchrunner import DataError, RequestError, read_json_object
from benchrunner.engine import write_json

PREFIX = "pretrained/"
"""Start of the names that these models have as backbones."""
_NAME = re.compile(r"[\w.-]+")


@final
@dataclass(frozen=True)
class Pretrained:
    """A finished model and its name."""

    name: str
    """Name without the prefix."""
    folder: Path
    """Absolute path of the model's folder, which has the hub's layout."""
    about: str
    """Line for `benchrunner list`."""

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Read the file of a name; None where it cannot be understood, or where its model no longer exists."""
        try:
            model = cls.parsed(path)
        except DataError:
            return None
        return model if model.exists else None

    @classmethod
    def parsed(cls, path: Path) -> Self:
        """Read the file of a name, or raise a `DataError` where it cannot be understood."""
        entry = read_json_object(path)
        try:
            return cls(path.stem, Path(entry["folder"]), str(entry["about"]))
        except (KeyError, TypeError):
            raise DataError(f"{path}: expected the keys folder and about, both texts.") from None

    @property
    def exists(self) -> bool:
        """Whether the model is still in its folder."""
        return (self.folder / "config.json").is_file()


def listed(runs: Path) -> Iterator[Pretrained]:
    """Give all models that still exist, sorted by name."""
    for path in sorted((runs / "pretrained").glob("*.json")):
        if (model := Pretrained.read(path)) is not None:
            yield model


def find(name: str, runs: Path) -> Pretrained:
    """Find the model of a name, or raise a `RequestError` that says why there is none."""
    path = _path(name, runs)
    if not os.path.lexists(path):
        reason = f"there is no model of this name in {path.parent}."
    else:
        try:
            model = Pretrained.parsed(path)
        except DataError as error:
            reason = (
                f"{error} Remove this file, and repeat the command that trained the model; this gives the name again."
            )
        else:
            if model.exists:
                return model
            reason = f"the model that {path} names no longer exists."
    raise RequestError(f"{PREFIX}{name}: {reason} 'benchrunner list backbones' lists the models that exist.")


def check_free(name: str, folder: Path, runs: Path) -> None:
    """Raise a `RequestError` if a text cannot be a name, or if the name belongs to another model."""
    path = _path(name, runs)
    model = Pretrained.read(path)
    if model is not None and model.folder != folder.resolve():
        raise RequestError(f"The name {PREFIX}{name} belongs to {model.folder}: choose another with --name.")


def register(name: str, folder: Path, about: str, runs: Path) -> None:
    """Give a model its name, unless another model has taken the name in the meantime."""
    check_free(name, folder, runs)
    write_json(_path(name, runs), {"folder": str(folder.resolve()), "about": about})


def _path(name: str, runs: Path) -> Path:
    if not _NAME.fullmatch(name):
        raise RequestError(f"A model's name is made of letters, digits, '.', '_' and '-', unlike '{name}'.")
    return runs / "pretrained" / f"{name}.json"
