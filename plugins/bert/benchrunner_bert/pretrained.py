"""Names of models that were pre-trained on this machine.

A small file for each model, in the folder of runs, says in which folder the model is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

from benchrunner import DataError, RequestError, read_json_object, write_json

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
            entry = read_json_object(path)
            model = cls(path.stem, Path(entry["folder"]), str(entry["about"]))
        except (DataError, KeyError, TypeError):
            return None
        return model if (model.folder / "config.json").is_file() else None


def listed(runs: Path) -> Iterator[Pretrained]:
    """Give all models that still exist, sorted by name."""
    for path in sorted((runs / "pretrained").glob("*.json")):
        if (model := Pretrained.read(path)) is not None:
            yield model


def find(name: str, runs: Path) -> Pretrained:
    """Find the model of a name, or raise a `RequestError` that says why there is none."""
    path = _path(name, runs)
    model = Pretrained.read(path) if path.is_file() else None
    if model is None:
        if path.is_file():
            reason = f"the model that {path} names no longer exists"
        else:
            reason = f"there is no model of this name in {path.parent}"
        raise RequestError(f"{PREFIX}{name}: {reason}. 'benchrunner list backbones' lists the models that exist.")
    return model


def model_type(folder: Path) -> str:
    """Give the `model_type` in the config.json of a checkpoint folder; empty where there is none that can be read."""
    try:
        return str(read_json_object(folder / "config.json").get("model_type", ""))
    except DataError:
        return ""


def check_free(name: str, folder: Path, runs: Path) -> None:
    """Raise a `RequestError` if a text cannot be a name, or if the name belongs to another model."""
    path = _path(name, runs)
    model = Pretrained.read(path) if path.is_file() else None
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
