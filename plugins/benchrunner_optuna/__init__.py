"""Optuna for benchrunner: its samplers choose which grid points are trained (`--search tpe --trials 8`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner.results import Search

__all__ = ["register_searches"]


@hookimpl
def register_searches() -> Iterator[Search]:
    from benchrunner.results import Search
    from benchrunner_optuna.proposals import SAMPLERS, next_points

    for name, (about, _) in SAMPLERS.items():
        yield Search(name, about, partial(next_points, sampler=name), has_trials=True)
