"""Answers of finished fits as lines of text, as JSON, and as the files of a leaderboard."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner import RequestError, text_lines
from benchrunner.engine import write_atomically
from benchrunner_submit.file_kinds.file_kind import Answers
from benchrunner_submit.leaderboard import Leaderboard
from benchrunner_submit.submission_files.content import file_content

if TYPE_CHECKING:
    from benchrunner.results import ensembles

PROBABILITIES = "probabilities"
"""The extra figure of a problem that has a probability for each label or choice."""


@final
@dataclass(frozen=True)
class AnswerTexts:
    """The texts of answers; a `RequestError` if probabilities are wanted and the task's problem gives none."""

    answered: ensembles.Answered
    """The answers to the first block of rows."""
    more: Iterable[ensembles.Answered] = ()
    """The answers to further blocks, which `lines` and `json_lines` write, too; of an iterator, only once."""
    has_probabilities: bool = False
    """Whether each answer has its probabilities beside it."""

    def __post_init__(self) -> None:
        if self.has_probabilities and PROBABILITIES not in self.answered.extra_figures:
            task = self.answered.task
            raise RequestError(
                f"{task.name} has no probabilities, since answers to problems of the kind '{task.problem.name}' have "
                "none. Leave --probabilities out."
            )

    def write_board_files(self, board: Leaderboard, folder: Path) -> list[Path]:
        """Write the files of a leaderboard with these answers, whatever the number of rows; return their paths."""
        answered, task, table = self.answered, self.answered.task, self.answered.rows.table
        files = board.files_of(task.name)
        if not files:
            known = ", ".join(dict.fromkeys(name for name, _ in board.wanted))
            raise RequestError(f"{board.name} takes no answers to {task.name}, but to {known or 'no task'}.")
        given = Answers(answered.answers, table=table, extra_figures=answered.extra_figures, fit=answered.by)
        contents = {}
        for file in files:
            if absent := [name for name in file.kind.row_columns if name not in table.column_names]:
                raise RequestError(
                    f"{file.name} has {', '.join(absent)} beside the answers, which is not read from a file of your "
                    f"own: give the data as --data DIR and --split {file.split}, where {task.name} has its own "
                    "files."
                )
            contents[folder / file.name] = file_content(file, given, len(answered.rows))
        for path, content in contents.items():
            write_atomically(path, partial(Path.write_bytes, data=content))
        return list(contents)

    def as_json(self) -> dict[str, Any]:
        """Return the answers and their scores as JSON values."""
        answered = self.answered
        return {
            **({PROBABILITIES: list(_probabilities(answered))} if self.has_probabilities else {}),
            "task": answered.task.name,
            "by": answered.by,
            "data": answered.rows.origin,
            "rows": len(answered.rows),
            "scores": answered.scores,
            "answers": answered.answers,
            "notes": answered.rows.notes,
        }

    def lines(self) -> Iterator[str]:
        """Yield the header `index<TAB>prediction` and a line for each answer: the file that `audit` reads.

        With probabilities, each label has a column; where answers are no labels, one column holds them as JSON.
        """
        problem = self.answered.task.problem
        labels = getattr(problem, "labels", ())
        yield _line("index\tprediction", labels or [PROBABILITIES], self.has_probabilities)
        for index, ((value, of_row), _) in enumerate(self._rows()):
            figures = of_row.values() if labels and of_row else [of_row]
            yield _line(f"{index}\t{problem.spell(value)}", figures, self.has_probabilities)

    def json_lines(self, *, plain: bool = False) -> Iterator[str]:
        """Yield a JSON object for each answer. With `plain`, the rows are plain lines of a file, which are written too.

        Where the problem tags words, `words` has the first character and the end of each word in its line.
        """
        problem = self.answered.task.problem
        lines = enumerate(text_lines(Path(self.answered.rows.origin)), start=1)
        for index, ((value, of_row), wanted) in enumerate(self._rows()):
            row: dict[str, Any] = {"index": index, "answer": value}
            if plain and wanted:
                row["text"] = text = next(line for number, line in lines if number == wanted).rstrip("\r")
                if problem.line_columns == ("words",):
                    row["words"] = [word.span() for word in re.finditer(r"\S+", text)]
            if self.has_probabilities:
                row[PROBABILITIES] = of_row
            yield json.dumps(row, ensure_ascii=False) + "\n"

    def _rows(self) -> Iterator[tuple[tuple[Any, Any], int | None]]:
        """Yield each answer with its probabilities, or None, and the number of its line, if it has one."""
        for answered in chain([self.answered], self.more):
            figures = _probabilities(answered) if self.has_probabilities else repeat(None)
            answers = zip(answered.answers, figures, strict=self.has_probabilities)
            yield from zip(answers, chain(answered.rows.lines or (), repeat(None)), strict=False)


def _probabilities(answered: ensembles.Answered) -> Iterator[Any]:
    """Yield for each row a table of label -> probability, or a list where the answers are no labels."""
    labels = getattr(answered.task.problem, "labels", None)
    for figures in answered.extra_figures[PROBABILITIES]:
        row = [round(float(figure), 6) for figure in figures]
        yield dict(zip(labels, row, strict=True)) if labels else row


def _line(text: str, more: Iterable[Any], has_more: bool) -> str:
    return "\t".join([text, *map(str, more if has_more else ())]) + "\n"
