"""Searches: which fits of a study come next."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner.results import Search, planning

__all__ = ["offer_search", "register_searches"]


@hookimpl
def offer_search() -> planning.StudySearch:
    from benchrunner_search.options import SEARCH

    return SEARCH


@hookimpl
def register_searches() -> Iterator[Search]:
    from benchrunner.results import Search
    from benchrunner_search.lines import halving

    yield Search("halving", "of trainings of several lengths, the best third goes on to the next length", halving)
    if find_spec("optuna"):
        from benchrunner_search.proposals import SAMPLERS, next_points

        for name, (about, *_) in SAMPLERS.items():
            yield Search(name, about, partial(next_points, sampler=name), has_trials=True)
