"""Rebuilds studies, cells, fits and predictions from the JSON values of a shared folder, and checks their types."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from benchrunner import PluginError, Recipe, RequestError, Task
from benchrunner.engine import decoding
from benchrunner.results import Fit, cells
from benchrunner_share.verifying.received_folder import UnreadableFile


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


def fit_ids(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the id of every fit that the cells of a study name, and those of majority answers."""
    for cell in content["result"]["cells"]:
        for point in cell["candidates"]:
            yield from map(checked_id, point["fits"])
    for of_tasks in content["majority"].values():
        yield from map(checked_id, of_tasks.values())


def rebuilt_cell(data: Mapping[str, Any], task: Task, fits: Mapping[str, Fit]) -> cells.Cell:
    """Make a cell of a known task; a fit that is not in `fits` raises a `KeyError`."""
    system = _expect(data["system"], str, "system")
    backbone = _expect(data["backbone"], str, "backbone")
    candidates: list[cells.Candidate] = []
    for point in data["candidates"]:
        recipe = Recipe.from_json(point["recipe"])
        restarts = [fits[checked_id(fit)] for fit in point["fits"]]
        rows = None if point["rows"] is None else _expect(point["rows"], int, "rows")
        candidates.append(cells.Candidate(recipe, tuple(restarts), rows))
    tests = tuple(split for split in data["tests"] if split in task.splits)
    return cells.Cell(
        system,
        task,
        tuple(candidates),
        decoding.from_json(cells.Selection, data["selection"], "selection", RequestError),
        tests,
        backbone,
        _expect(data["method"], str, "method"),
        decoding.from_json(cells.Fitting, data["fitting"], "fitting", RequestError),
    )


def _expect(value: Any, kind: type, name: str) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{name} must be of the kind {kind.__name__}, not {type(value).__name__}")
    return value
