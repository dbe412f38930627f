"""Ranking and retrieval for benchrunner: cross-encoders, two towers, BEIR's layout, and nDCG with exact ties.

A plugin of yours makes a task of any corpus in BEIR's layout:

    from benchrunner import hookimpl
    from benchrunner_ranking import beir_task

    @hookimpl
    def register_tasks():
        yield beir_task("mine/recipes", "Which recipes fit?", {"train": None, "dev": None})
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import hookimpl, named_by_stub

if TYPE_CHECKING:
    from benchrunner import Task
    from benchrunner.engine import Method

__getattr__, __all__ = named_by_stub(__name__, __file__)


@hookimpl
def register_tasks() -> Iterator[Task]:
    from benchrunner_ranking.beir import tasks
    from benchrunner_ranking.wikiqa import WIKIQA

    yield from tasks()
    yield WIKIQA


@hookimpl
def register_methods() -> Iterator[Method]:
    from benchrunner_ranking.towers import FrozenTowers, TwoTower

    yield TwoTower()
    yield FrozenTowers()
