"""Named entities of CoNLL-2003 for benchrunner (Tjong Kim Sang and De Meulder 2003), and tasks of similar corpora.

A `Corpus` describes tagged phrases in column files and makes a task:

    from benchrunner import Recipe, hookimpl
    from benchrunner_conll import Corpus

    TWEETS = Corpus(
        name="mine/tweets",
        about="Which persons and groups do tweets name?",
        files={"train": ("tweets/train.conll",), "dev": ("tweets/dev.conll",), "test": ("tweets/test.conll",)},
        types=("person", "group"),
        recipe=Recipe(max_length=128, context="sentence"),
    )

    @hookimpl
    def register_tasks():
        yield TWEETS.task()
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import hookimpl, named_by_stub

if TYPE_CHECKING:
    from benchrunner import Task

__getattr__, __all__ = named_by_stub(__name__, __file__)


@hookimpl
def register_tasks() -> Iterator[Task]:
    from benchrunner_conll.corpus import CONLL2003

    yield CONLL2003.task()
