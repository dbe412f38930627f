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

from benchrunner import Task, hookimpl
from benchrunner_xlingual.table import PAWSX, SIB200, WIKIANN, XNLI, tasks
from benchrunner_xlingual.transfer import Transfer

__all__ = ["PAWSX", "SIB200", "WIKIANN", "XNLI", "Transfer", "register_tasks"]


@hookimpl
def register_tasks() -> Iterator[Task]:
    yield from tasks()
