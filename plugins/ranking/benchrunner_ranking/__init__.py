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

from benchrunner import Task, hookimpl
from benchrunner_ranking import metrics
from benchrunner_ranking.beir import beir_task
from benchrunner_ranking.corpus import BeirQueries, Corpus
from benchrunner_ranking.rank import Rank
from benchrunner_ranking.retrieve import Retrieve
from benchrunner_ranking.wikiqa import WIKIQA

if TYPE_CHECKING:
    from benchrunner.engine import Method

__all__ = [
    "WIKIQA",
    "BeirQueries",
    "Corpus",
    "Rank",
    "Retrieve",
    "beir_task",
    "metrics",
    "register_methods",
    "register_tasks",
]


@hookimpl
def register_tasks() -> Iterator[Task]:
    from benchrunner_ranking.beir import tasks

    yield from tasks()
    yield WIKIQA


@hookimpl
def register_methods() -> Iterator[Method]:
    from benchrunner_ranking.towers import FrozenTowers, TwoTower

    yield TwoTower()
    yield FrozenTowers()
