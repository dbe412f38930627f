"""The faults that a check finds, and the error that lists them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sized

import numpy as np

from benchrunner import BenchrunnerError, PluginError, guarded

Faults = Iterator[str]
"""Faults of a value, each a sentence that says what was compared, and what to do."""


def found(action: str, faults: Iterable[str]) -> list[str]:
    """List the faults of a step. An error is the last one of them; the next step is checked nevertheless.

    `action` says what the step does, for example "encoding the rows".
    """
    listed = list[str]()
    try:
        with guarded(action):
            for fault in faults:
                listed.append(fault)
    except BenchrunnerError as error:
        listed.append(str(error))
    return listed


def refuse(name: str, faults: Iterable[str]) -> None:
    """Raise a `PluginError` that lists the faults of a value, if there are any."""
    listed = "\n  - ".join(dict.fromkeys(faults))
    if listed:
        raise PluginError(f"{name} breaks its contract:\n  - {listed}")


def lost_in_json(what: str, value: object) -> Faults:
    """Find a value that JSON cannot hold, or that is another one after it was written and read again."""
    try:
        if json.loads(json.dumps(value)) != value:
            yield f"{what} is different after it was written as JSON and read again: use lists, not tuples"
    except TypeError as error:
        yield f"{what} cannot be written as JSON ({error}): use Python's own texts, numbers and lists"


def check_borders(what: str, values: np.ndarray, parts: int, end: int, *, least: int = 1) -> None:
    """Raise a `PluginError` unless the values are the borders of so many parts, each of so many things at least."""
    borders = np.asarray(values)
    counts = np.diff(borders)
    if len(counts) != parts or borders[0] != 0 or borders[-1] != end or counts.min() < least:
        raise PluginError(f"{what} must be {parts + 1} numbers from 0 to {end}, each {least} or more above the last")


def check_count(what: str, values: Sized, expected: int, things: str) -> None:
    """Raise a `PluginError` unless there is one value for each of so many things."""
    if len(values) != expected:
        raise PluginError(f"{what} gives {len(values)} for {expected} {things}: give one for each")
