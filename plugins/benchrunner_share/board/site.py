"""The files of a board's site: pages, JSON, CSV, and the metadata that the shared folders hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchrunner.engine import decoding
from benchrunner.results import comparison
from benchrunner_share.board.board import Board
from benchrunner_share.board.pages import Pages
from benchrunner_share.board.receiving import Accepted
from benchrunner_share.private_texts import Private

MARK = "board.json"
"""File that tells the folder of a site from others."""
MOST_COMPARISONS = 20_000
"""Largest number of tests in `board.json`; more are in one file for each column."""


def site_files(board: Board, private: Private) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every file of a site. `private` leaves folders of this machine out of texts."""
    pages = Pages(board, private)
    yield "index.html", pages.index()
    yield "refused.html", pages.refused()
    for entry in board.entries:
        yield board.pages[entry.name], pages.system(entry)
    for task in board.tasks:
        yield board.task_pages[task.name], pages.task(task)
    yield "board.csv", comparison.as_text("csv", board.result)
    yield from _json_files(board)
    for files in board.metadata.values():
        yield from files.items()


def _json_files(board: Board) -> Iterator[tuple[str, str]]:
    """Yield the JSON file of all that the pages show; more than MOST_COMPARISONS tests get a file for each task."""
    values = comparison.as_json(board.result)
    comparisons: Sequence[Mapping[str, Any]] = values["comparisons"]
    if len(comparisons) > MOST_COMPARISONS:
        values["comparisons"] = []
        of_tasks: dict[str, list[Mapping[str, Any]]] = {}
        for test in comparisons:
            of_tasks.setdefault(test["task"], []).append(test)
        for task, tests in of_tasks.items():
            yield board.task_pages[task].replace(".html", ".comparisons.json"), _json(tests)
    values["title"] = board.title
    values["partial"] = None if board.partial is None else comparison.as_json(board.partial)
    values["folders"] = [_folder_json(board, folder) for folder in board.folders]
    values["refused"] = decoding.as_json(board.refused)
    yield MARK, _json(values)


def _folder_json(board: Board, folder: Accepted) -> dict[str, Any]:
    verification = folder.study.verification
    return {
        "name": folder.name,
        "study": verification.name,
        "answered": folder.date,
        "url": folder.study.content["url"],
        "fingerprint": verification.fingerprint,
        "answers": verification.answers,
        "remarks": list(verification.remarks),
        "systems": [entry.name for entry in board.entries if entry.folder is folder],
        "metadata": list(board.metadata[folder.name]),
    }


def _json(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
