"""Questions about texts as columns, and SQuAD's own files in this form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from benchrunner import DataError, Rows, quoted
from benchrunner_squad.json_files import JsonFile, JsonValue

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa


@final
class QuestionColumns:
    """The columns of questions, filled question by question."""

    def __init__(self, *, labelled: bool) -> None:
        self._texts: dict[str, list[str]] = {"id": [], "question": [], "context": [], "article": []}
        self._answers: list[list[str]] | None = [] if labelled else None
        self._starts: list[list[int]] = []

    def add(self, name: str, question: str, context: str, article: str, answers: list[tuple[str, int]]) -> None:
        """Add a question with its id. An answer is a text and the index of its first character in the context."""
        self._texts["id"].append(name)
        self._texts["question"].append(question)
        self._texts["context"].append(context)
        self._texts["article"].append(article)
        if self._answers is not None:
            self._answers.append([text for text, _ in answers])
            self._starts.append([start for _, start in answers])

    def __len__(self) -> int:
        return len(self._texts["id"])

    def table(self, origin: Path) -> pa.Table:
        """Make the table; raises `DataError` for a text that no text file can hold."""
        import pyarrow as pa

        try:
            columns = {name: pa.array(texts, pa.string()) for name, texts in self._texts.items()}
            if self._answers is not None:
                columns["answers"] = pa.array(self._answers, pa.list_(pa.string()))
                columns["starts"] = pa.array(self._starts, pa.list_(pa.int64()))
            return pa.table(columns)
        except UnicodeEncodeError as error:  # JSON can spell half a surrogate pair: \ud83d
            text = quoted(error.object)
            place = f"character {error.start}"
            raise DataError(f"{origin}: the text {text} holds half of a surrogate pair, {place}.") from None


@final
@dataclass(frozen=True)
class SquadFile(JsonFile):
    """A file of SQuAD 1.1 or 2.0: articles of paragraphs with questions."""

    def rows(self, top: JsonValue) -> Rows:
        columns = QuestionColumns(labelled=self.labelled)
        articles = list(top.each("data"))
        if not articles:
            raise top.error("'data' is an empty list; expected articles")
        for number, article in enumerate(articles, start=1):
            title = article.text("title") if "title" in article else f"article {number}"
            for paragraph in article.each("paragraphs"):
                context = paragraph.text("context")
                for question in paragraph.each("qas"):
                    answers = _answers(question) if self.labelled else []
                    columns.add(question.text("id"), question.text("question"), context, title, answers)
        return Rows(columns.table(top.file), str(top.file))


def _answers(question: JsonValue) -> list[tuple[str, int]]:
    """Read a question's answers and their places. `is_impossible`, which 1.1 does not have, must agree with them."""
    answers = list[tuple[str, int]]()
    for answer in question.each("answers"):
        answers.append((answer.text("text"), answer.whole("answer_start")))
    if "is_impossible" in question and question.truth("is_impossible") == bool(answers):
        count = f"there are {len(answers)} answers" if answers else "there is no answer"
        raise question.error(f"'is_impossible' is {str(bool(answers)).lower()}, but {count}")
    return answers
