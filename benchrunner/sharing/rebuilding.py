"""Rebuilds studies, cells, fits and predictions from the JSON values of a shared folder, and checks their types."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from benchrunner.errors import PluginError, RequestError
from benchrunner.fits.fit import Fit
from benchrunner.io.decoding import from_json
from benchrunner.parameters.recipes import Grid, NamedRecipe, Recipe
from benchrunner.sharing.received_folder import UnreadableFile
from benchrunner.studies.study import Candidate, Cell, Selection, Study
from benchrunner.tasks.task import Task


@contextlib.contextmanager
def understood(place: str) -> Iterator[None]:
    """Turn errors from missing or wrong values in the `with` block into an `UnreadableFile` that names the place."""
    try:
        yield
    except UnreadableFile:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        raise UnreadableFile(f"{place} does not hold what 'benchrunner share' writes ({reason!a}).") from None
    except (PluginError, RequestError) as error:
        raise UnreadableFile(f"{place}: {error}") from None


def checked_id(value: Any) -> str:
    """Return the id of a fit or a prediction; raise a `ValueError` for other values."""
    if not isinstance(value, str) or not re.fullmatch(r"[0-9a-f]{16}", value):
        raise ValueError(f"{value!r} is not an id of 16 hexadecimal digits")
    return value


def rebuilt_study(data: Mapping[str, Any], tasks: Mapping[str, Task]) -> Study:
    """Make a study; tasks that are not known are left out."""
    return Study(
        backbones=tuple(_expect(name, str, "backbone") for name in data["backbones"]),
        tasks=tuple(tasks[name] for name in data["tasks"] if name in tasks),
        grid=Grid({name: tuple(values) for name, values in data["grid"].items()}),
        seeds=tuple(_expect(seed, int, "seed") for seed in data["seeds"]),
        changes=dict(data["changes"]),
        preset=from_json(NamedRecipe, data["preset"], "preset") if "preset" in data else None,
        methods=tuple(_expect(name, str, "method") for name in data["methods"]),
        keep=data["keep"],
        selection=Selection(**data["selection"]),
    )


def rebuilt_cell(data: Mapping[str, Any], task: Task, fits: Mapping[str, Fit]) -> Cell:
    """Make a cell of a known task; a fit that is not in `fits` raises a `KeyError`."""
    backbone = _expect(data["backbone"], str, "backbone")
    candidates = tuple(
        Candidate(
            Recipe.from_json(point["recipe"]),
            tuple(replace(fits[checked_id(fit)], task=task.name, backbone=backbone) for fit in point["fits"]),
        )
        for point in data["candidates"]
    )
    tests = tuple(split for split in data["tests"] if split in task.splits)
    return Cell(backbone, task, candidates, Selection(**data["selection"]), tests)


def _expect(value: Any, kind: type, name: str) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{name} must be of the kind {kind.__name__}, not {type(value).__name__}")
    return value
