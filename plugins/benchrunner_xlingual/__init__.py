"""Cross-lingual transfer for benchrunner: XNLI, PAWS-X, WikiANN and SIB-200, learned in one language, answered in many.

`XNLI`, `PAWSX`, `WIKIANN` and `SIB200` are values of `Transfer`. A plugin of yours may choose other languages:

    from dataclasses import replace

    from benchrunner import hookimpl
    from benchrunner_xlingual import XNLI

    @hookimpl
    def register_tasks():
        yield replace(XNLI, name="de/xnli", train_language="de", languages=("de", "en", "fr")).task()
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
    from benchrunner_xlingual.table import tasks

    yield from tasks()
