"""Questions about texts, as the columns that spans are found in; SQuAD's own files, and its rows on the hub."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from benchrunner import DataError, Rows, quoted
from benchrunner_squad.jsonfiles import JsonFile, Spot

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa


@final
class Questions:
    """The columns while they are filled, a question at a time."""

    def __init__(self, *, labelled: bool) -> None:
        self._texts: dict[str, list[str]] = {"id": [], "question": [], "context": []}
        self._answers: list[list[str]] | None = [] if labelled else None
        self._starts: list[list[int]] = []

    def add(self, name: str, question: str, context: str, answers: list[tuple[str, int]]) -> None:
        """`answers` are texts with the characters of the context at which they begin."""
        for column, text in zip(self._texts.values(), (name, question, context), strict=True):
            column.append(text)
        if self._answers is not None:
            self._answers.append([text for text, _ in answers])
            self._starts.append([start for _, start in answers])

    def __len__(self) -> int:
        return len(self._texts["id"])

    def table(self, origin: Path) -> pa.Table:
        import pyarrow as pa

        columns: dict[str, tuple[list[str] | list[list[str]] | list[list[int]], pa.DataType]]
        columns = {name: (texts, pa.string()) for name, texts in self._texts.items()}
        if self._answers is not None:
            columns["answers"] = (self._answers, pa.list_(pa.string()))
            columns["starts"] = (self._starts, pa.list_(pa.int64()))
        try:
            return pa.table({name: pa.array(values, kind) for name, (values, kind) in columns.items()})
        except UnicodeEncodeError as error:  # JSON can spell half a character, \ud83d, which no text file can hold
            at, text = error.start, quoted(error.object)
            raise DataError(f"{origin}: the text {text} holds half of a surrogate pair, character {at}.") from None


@final
@dataclass(frozen=True)
class SquadFile(JsonFile):
    """A file of SQuAD 1.1 or 2.0: articles of paragraphs with questions."""

    def rows(self, top: Spot) -> Rows:
        found = Questions(labelled=self.labelled)
        articles = list(top.each("data"))
        if not articles:
            raise top.wrong("'data' is an empty list; articles were expected")
        for article in articles:
            for paragraph in article.each("paragraphs"):
                context = paragraph.text("context")
                for one in paragraph.each("qas"):
                    answers = _answers(one) if self.labelled else []
                    found.add(one.text("id"), one.text("question"), context, answers)
        return Rows(found.table(top.file), str(top.file))


def _answers(question: Spot) -> list[tuple[str, int]]:
    """Texts and places; `is_impossible`, which files of 1.1 do not have, may only say what the list says."""
    found = [(one.text("text"), one.whole("answer_start")) for one in question.each("answers")]
    if "is_impossible" in question and question.claim("is_impossible") == bool(found):
        there = f"there are {len(found)} answers" if found else "there is no answer"
        raise question.wrong(f"'is_impossible' is {str(bool(found)).lower()}, but {there}")
    return found


def from_hub(table: pa.Table) -> pa.Table:
    """The hub keeps an answer's text and its place together: `answers` has the fields `text` and `answer_start`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    answers = table.column("answers")
    if not pa.types.is_struct(answers.type) or not {"text", "answer_start"} <= {one.name for one in answers.type}:
        raise DataError(f"The hub's column 'answers' must have the fields text and answer_start; it is {answers.type}.")
    columns = {name: table.column(name).cast(pa.string()) for name in ("id", "question", "context")}
    columns["answers"] = pc.struct_field(answers, "text").cast(pa.list_(pa.string()))
    columns["starts"] = pc.struct_field(answers, "answer_start").cast(pa.list_(pa.int64()))
    return pa.table(columns)
