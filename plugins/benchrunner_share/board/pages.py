"""The pages of a board: the table of all systems, a page for each system and each task, and what was refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final
from urllib.parse import quote

from benchrunner import BenchrunnerError, Task
from benchrunner.engine import first_line
from benchrunner.results import CellResult, Result, comparison, entries
from benchrunner_report import Disagreement, StudyTable, mean_rank_card, page_environment, visible
from benchrunner_share.board.board import Board
from benchrunner_share.board.differing import differing_rows, given_answers
from benchrunner_share.board.joining import Entry
from benchrunner_share.documents import statements
from benchrunner_share.private_texts import Private

LONGEST_TEXT = 400
"""Most characters of a text on a page, such as the reason of a lost fit."""
MOST_ROWS = 40
"""Largest number of rows of a task on its page."""


@final
class Pages:
    """Writes the pages of a board."""

    def __init__(self, board: Board, private: Private) -> None:
        def shown(text: str) -> str:
            """Leave out folders of this machine and characters that hide others, and cut a text that is too long."""
            return visible(private.without_known(text), LONGEST_TEXT)

        self._board = board
        styles, scripts = ["report.css", "board.css"], ["page.js", "board.js"]
        self._environment = page_environment("benchrunner_share.board", styles, scripts, shown)
        self._environment.filters["coded"] = comparison.coded

    def index(self) -> str:
        """Return the first page: the verdict, the table, the cost, and how the board was made."""
        board, result = self._board, self._board.result
        facts = list(comparison.facts(result))
        return self._page(
            "index.html",
            "",
            conclusions=[fact.line for fact in facts if fact.kind == "conclusion"],
            table=_table(result),
            partial=_table(board.partial),
            legend=[fact.line for fact in facts if fact.kind == "mark"],
            notes=[fact.line for fact in facts if fact.is_note],
            card=mean_rank_card(result),
            proven=statements.PROVEN,
            not_proven=(statements.NOT_PROVEN_BEGINS, statements.NOT_PROVEN),
        )

    def refused(self) -> str:
        """Return the page of the folders that were refused."""
        return self._page("refused.html", "")

    def system(self, entry: Entry) -> str:
        """Return the page of a system."""
        whole = entry.name in self._board.result.study.names
        result = self._board.result if whole else self._board.partial
        assert result is not None
        cells = [cell for cell in result.cells if cell.cell.system == entry.name]
        scores = []
        for cell in cells:
            scores += [(cell.cell.task.name, result.entries[entry.name, column]) for column in cell.cell.columns]
        verification = entry.folder.study.verification
        return self._page(
            "system.html",
            "../",
            entry=entry,
            is_ranked=whole,
            cells=cells,
            scores=scores,
            rank=result.statistics.mean_ranks.get(entry.name),
            claims=entry.folder.study.content,
            verification=verification,
            metadata=list(_metadata(self._board, entry)),
        )

    def task(self, task: Task) -> str:
        """Return the page of a task: its scores, the best first, and the rows in which systems differ."""
        result = self._board.result
        cells = [cell for cell in result.cells if cell.cell.task.name == task.name]
        ranked = {column.name for column in result.study.columns if column.is_tested}
        scores = []
        for cell in cells:
            column = next((name for name in cell.cell.columns if name in ranked), cell.cell.columns[0])
            scores.append((cell.cell.system, result.entries[cell.cell.system, column]))
        scores.sort(key=lambda score: (_order(score[1]), score[0]))
        majority = {}
        for term, of_majority in result.baseline.items():
            if (term.task, term.metric) == (task.name, task.metrics[0].name):
                majority[term.split] = of_majority
        return self._page(
            "task.html",
            "../",
            task=task,
            scores=scores,
            majority=majority,
            differing=_differing(cells),
            most_rows=MOST_ROWS,
            given_answers=given_answers,
        )

    def _page(self, template: str, root: str, **values: Any) -> str:
        """Fill a template. `root` leads from the page to the folder of the site."""
        board = self._board
        return self._environment.get_template(template).render(
            board=board,
            root=root,
            keys={},
            links=_links(board, root),
            result=board.result,
            **values,
        )


def _order(entry: entries.Entry) -> float:
    """Return what sorts entries: the best first, and last those without a value."""
    mean = entry.figure.mean.value
    return math.inf if mean is None else -entry.figure.gain(mean)


def _table(result: Result | None) -> StudyTable | None:
    """Return the table of `compare`; mean ranks, averages and costs stand before the tasks, which may be many."""
    if result is None:
        return None
    layout = comparison.layout(result, comparison.NOTHING_PUBLISHED)
    return StudyTable.of(layout, first=1 + len(result.study.shown_columns()))


def _differing(cells: Sequence[CellResult]) -> Disagreement | str:
    """Return the rows in which systems differ, or why there are none."""
    try:
        return differing_rows(cells)
    except BenchrunnerError as reason:
        return first_line(reason)


def _links(board: Board, root: str) -> Mapping[str, str]:
    """Map the names of systems and tasks to the addresses of their pages."""
    return {name: f"{root}{quote(page)}" for name, page in {**board.task_pages, **board.pages}.items()}


def _metadata(board: Board, entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield the files of metadata of a system's folder that are of its backbone: name and address."""
    files = board.metadata[entry.folder.name]
    for file in files:
        yield file.removeprefix(f"{board.homes[entry.folder.name]}/"), f"../{quote(file)}"
