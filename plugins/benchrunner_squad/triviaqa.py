"""TriviaQA in the form of SQuAD: its questions and documents, with each answer at the first place that names it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import final

from benchrunner import DataError, Rows, quoted, read_text
from benchrunner_squad.json_files import JsonFile, JsonValue
from benchrunner_squad.questions import QuestionColumns

EVIDENCE = {"EntityPages": "wikipedia", "SearchResults": "web"}
"""A question's list of documents -> the folder of `evidence` with their texts."""

_TOKEN = re.compile(r"\w+|[^\w\s]")
_OTHER_THAN_MARKS = re.compile(r"[^\W_]")
_OTHER_SPACE = re.compile(r"[^\S ]")


@dataclass(frozen=True)
class Document:
    """A document that a question lists. It becomes a row if it names the answer."""

    name: str
    """Id of the pair of question and document, as in the official tools."""
    question: str
    file: str
    """Path below the folder `evidence`."""
    names: frozenset[str]
    """Names of the answer, in lower case."""


@final
@dataclass(frozen=True)
class TriviaFile(JsonFile):
    """A file of questions with their documents: `qa/FILE`, with the folder `evidence` beside `qa`.

    A row is a question with one of its documents, as in the official conversion. TriviaQA does not mark where a
    document answers the question: the row takes the first place that names the answer (distant supervision). A
    document without such a place is left out.
    """

    tokens: int = 400
    """Number of tokens that are read from the beginning of a document; Devlin et al. 2019 read 400, TriviaQA's own
    conversion 800. A token is a word or another character that is not white space."""

    def rows(self, top: JsonValue) -> Rows:
        evidence = top.file.parent.parent / "evidence"
        listed = list[Document]()
        for question in top.each("Data"):
            listed += _documents(question, labelled=self.labelled)
        documents = list(dict.fromkeys(listed))
        missing = [document.file for document in documents if not (evidence / document.file).is_file()]
        if missing:
            raise DataError(
                f"{top.file}: {len(missing):,} of {len(documents):,} documents have no text; the first is "
                f"{evidence / missing[0]}. Unpack the archive's folder 'evidence' beside this file's folder."
            )
        columns = QuestionColumns(labelled=self.labelled)
        for document in documents:
            context = beginning(read_text(evidence / document.file), self.tokens)
            place = first_place(context, document.names)
            answers = list[tuple[str, int]]()
            if place is not None:
                start, end = place
                answers.append((context[start:end], start))
            if answers or not self.labelled:
                columns.add(document.name, document.question, context, document.file, answers)
        notes = self._notes(len(listed), len(documents), len(columns))
        return Rows(columns.table(top.file), str(top.file), notes=tuple(notes))

    def _notes(self, listed: int, documents: int, kept: int) -> Iterator[str]:
        if listed > documents:
            yield f"left out {listed - documents:,} of {listed:,} documents: listed twice for the same question"
        if documents > kept:
            count = f"{documents - kept:,} of {documents:,} documents"
            yield f"left out {count}: their first {self.tokens:,} tokens do not name the answer"


def beginning(text: str, tokens: int) -> str:
    """Cut a text after its first tokens; the kept part is unchanged."""
    for number, token in enumerate(_TOKEN.finditer(text)):
        if number == tokens:
            return text[: token.start()].rstrip()
    return text


def first_place(text: str, names: Iterable[str]) -> tuple[int, int] | None:
    """Find the first place in a text that has one of the names, from its first character to after its last.

    Of names that begin at the same character, the longest is taken. Case is ignored, any white space matches a space,
    and a place inside of a longer word does not count.
    """
    plain = _plain(text)
    first: tuple[int, int] | None = None
    for name in names:
        start = _find_word(plain, name)
        end = start + len(name)
        if start >= 0 and (first is None or start < first[0] or (start == first[0] and end > first[1])):
            first = start, end
    return first


def _find_word(text: str, name: str) -> int:
    """Find the first place of a name that is no part of a longer word; -1 if there is none."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        before = text[at - 1 : at]
        if not before.isalnum() and not text[end : end + 1].isalnum():
            break
        at = text.find(name, at + 1)
    return at


def _plain(text: str) -> str:
    """Lower the case and turn white space into spaces; the number of characters stays the same."""
    lowered = text.lower()
    if len(lowered) != len(text):  # for example, the lower case of İ has two characters
        letters = [letter if len(letter.lower()) > 1 else letter.lower() for letter in text]
        lowered = "".join(letters)
    return _OTHER_SPACE.sub(" ", lowered)


def _names(answer: JsonValue) -> frozenset[str]:
    """Collect the answer, its aliases, and TriviaQA's normalised forms (lower case, no punctuation, no articles)."""
    names = [answer.text("Value")]
    names += answer.texts("Aliases")
    names += answer.texts("NormalizedAliases")
    plain = {" ".join(_plain(name).split()) for name in names}
    return frozenset(name for name in plain if _OTHER_THAN_MARKS.search(name))


def _documents(question: JsonValue, *, labelled: bool) -> Iterator[Document]:
    text = question.text("Question")
    name = question.text("QuestionId")
    names = _names(question.inner("Answer")) if labelled else frozenset[str]()
    for key, folder in EVIDENCE.items():
        if key not in question:
            continue
        for page in question.each(key):
            file = page.text("Filename")
            path = PurePosixPath(file)
            if not file or path.is_absolute() or ".." in path.parts:
                raise page.error(f"'Filename' must be a path below evidence/{folder}, found {quoted(file)}")
            yield Document(f"{name}--{file}", text, f"{folder}/{file}", names)
