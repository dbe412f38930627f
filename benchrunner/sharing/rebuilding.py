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
from benchrunner.parameters.recipes import Recipe
from benchrunner.sharing.received_folder import UnreadableFile
from benchrunner.studies.cells import Candidate, Cell, Fitting, Selection
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


def checked_text(value: Any) -> str:
    """Return a text; raise a `TypeError` for other values."""
    text: str = _expect(value, str, "name")
    return text


def rebuilt_cell(data: Mapping[str, Any], task: Task, fits: Mapping[str, Fit]) -> Cell:
    """Make a cell of a known task; a fit that is not in `fits` raises a `KeyError`."""
    system, backbone = _expect(data["system"], str, "system"), _expect(data["backbone"], str, "backbone")
    candidates: list[Candidate] = []
    for point in data["candidates"]:
        recipe = Recipe.from_json(point["recipe"])
        restarts = [replace(fits[checked_id(fit)], task=task.name, backbone=backbone) for fit in point["fits"]]
        candidates.append(Candidate(recipe, tuple(restarts)))
    tests = tuple(split for split in data["tests"] if split in task.splits)
    return Cell(
        system,
        task,
        tuple(candidates),
        from_json(Selection, data["selection"], "selection", RequestError),
        tests,
        backbone,
        _expect(data["method"], str, "method"),
        from_json(Fitting, data["fitting"], "fitting", RequestError),
        tuple(_expect(name, str, "column") for name in data["columns"]),
    )


def _expect(value: Any, kind: type, name: str) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{name} must be of the kind {kind.__name__}, not {type(value).__name__}")
    return value
