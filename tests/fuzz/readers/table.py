"""Everything that reads a file or a text that a user brings, by part."""

import functools

from readers.board_files import board_files, boards
from readers.plugin_files import plugin_files
from readers.reader import Reader
from readers.row_files import predictions, sources
from readers.run_files import runs
from readers.study_texts import studies
from readers.task_files import tasks

PARTS = {
    "sources": sources,
    "predictions": predictions,
    "board files": board_files,
    "boards": boards,
    "studies": studies,
    "runs": runs,
    "tasks": tasks,
    "plugins": plugin_files,
}


@functools.cache
def readers(part: str) -> dict[str, Reader]:
    """Return the readers of a part by their names."""
    return dict(PARTS[part]())
