"""Questions about texts in JSON files, and SQuAD's own layout of such files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

from benchrunner import DataError, Rows, Workspace, json_files, quoted, sources

COLUMNS = ("id", "question", "context", "article", "answers", "starts")
"""Columns of the rows: each answer is a text, and `starts` has the index of its first character in the context."""
Question = Mapping[str, Any]
"""A value for each of the columns."""


@dataclass(frozen=True)
class QuestionFile(sources.FileSource):
    """Questions about texts in a JSON file below the user's data folder."""

    columns: Mapping[str, Any] = field(default_factory=lambda: dict.fromkeys(COLUMNS))

    @property
    def is_labelled(self) -> bool:
        """Whether answers are read; a user's own file needs none."""
        return "answers" in self.columns

    @abstractmethod
    def questions(self, content: Any, path: Path, notes: list[str]) -> Iterator[Question]:
        """Yield the questions of a file with this content, and append remarks for the user to the notes.

        A value of another form than expected may raise any error of Python's.
        """

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        path = self.file(workspace)
        content = json_files.read_json(path)
        notes = list[str]()
        questions = list[Question]()
        try:
            for question in self.questions(content, path, notes):
                questions.append(question)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            reason = f"there is no {error}" if isinstance(error, LookupError) else str(error)
            which = f"question after {quoted(questions[-1]['id'])}" if questions else "first question"
            raise DataError(f"{path}: the {which} cannot be read: {reason}.") from error
        rows = Rows(pa.table({}), str(path), notes=tuple(notes))
        columns = {}
        for name in self.columns:
            columns[name] = rows.column(name, [question[name] for question in questions])
        return replace(rows, table=pa.table(columns))


@final
@dataclass(frozen=True)
class SquadFile(QuestionFile):
    """A file of SQuAD 1.1 or 2.0: articles of paragraphs with questions."""

    def questions(self, content: Any, path: Path, notes: list[str]) -> Iterator[Question]:
        for number, article in enumerate(content["data"], start=1):
            title = article.get("title", f"article {number}")
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    answers = question["answers"] if self.is_labelled else []
                    if self.is_labelled and question.get("is_impossible", not answers) == bool(answers):
                        said = f"'is_impossible' is {str(bool(answers)).lower()}, and there are {len(answers)} answers"
                        raise ValueError(said)
                    yield {
                        "id": question["id"],
                        "question": question["question"],
                        "context": paragraph["context"],
                        "article": title,
                        "answers": [answer["text"] for answer in answers],
                        "starts": [answer["answer_start"] for answer in answers],
                    }
