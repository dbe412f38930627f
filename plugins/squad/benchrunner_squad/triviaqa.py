"""TriviaQA in SQuAD's form: its own questions and documents, each answer where its name stands first in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import final

from benchrunner import DataError, Rows, quoted, read_text
from benchrunner_squad.jsonfiles import JsonFile, Spot
from benchrunner_squad.questions import Questions

EVIDENCE = {"EntityPages": "wikipedia", "SearchResults": "web"}
"""A question's lists of documents -> the folders of `evidence` with their texts."""

_OTHER_SPACE = re.compile(r"[^\S ]")


@dataclass(frozen=True)
class Document:
    """One of a question's documents: a row, where it names the answer."""

    name: str
    """As the official tools call the pair."""
    question: str
    file: str
    """Below the folder `evidence`."""
    names: frozenset[str]
    """Of the answer, in lower case."""


@final
@dataclass(frozen=True)
class TriviaFile(JsonFile):
    """A file of questions with the documents to look in: `qa/FILE`, and `evidence` beside `qa`.

    A row is a question with one of its documents, as the official conversion has it. Nobody has marked where a document
    answers: the first place at which a name of the answer stands is taken (distant supervision), and a document with
    no such place is left out.
    """

    words: int = 800
    """What is read of a document, from its beginning: the official conversion's choice."""

    def rows(self, top: Spot) -> Rows:
        evidence = top.file.parent.parent / "evidence"
        listed = [one for question in top.each("Data") for one in _documents(question, labelled=self.labelled)]
        documents = list(dict.fromkeys(listed))
        if missing := [one.file for one in documents if not (evidence / one.file).is_file()]:
            raise DataError(
                f"{top.file}: {len(missing):,} of {len(documents):,} documents have no text; the first is "
                f"{evidence / missing[0]}. Unpack the archive's folder 'evidence' beside this file's folder."
            )
        found = Questions(labelled=self.labelled)
        for one in documents:
            context = beginning(read_text(evidence / one.file), self.words)
            place = first_place(context, one.names)
            if place is not None or not self.labelled:
                answers = [] if place is None else [(context[slice(*place)], place[0])]
                found.add(one.name, one.question, context, answers)
        notes = self._notes(len(listed), len(documents), len(found))
        return Rows(found.table(top.file), str(top.file), notes=tuple(notes))

    def _notes(self, listed: int, documents: int, kept: int) -> Iterator[str]:
        if listed > documents:
            yield f"left out {listed - documents:,} of {listed:,} documents: listed before for the same question"
        if documents > kept:
            count = f"{documents - kept:,} of {documents:,} documents"
            yield f"left out {count}: no name of the answer stands in their first {self.words:,} words"


def beginning(text: str, words: int) -> str:
    """Its first so many words, cut out as they are written."""
    parts = text.split(maxsplit=words)
    return text[: len(text) - len(parts[words])].rstrip() if len(parts) > words else text


def first_place(text: str, names: Iterable[str]) -> tuple[int, int] | None:
    """From and to of the name that stands first in the text; of those that begin there, of the longest.

    A name stands there whatever its case and with any white space for its spaces, not inside of a longer word.
    """
    plain = _plain(text)
    places = [(at, at + len(name)) for name in names if (at := _stands(plain, name)) >= 0]
    return min(places, key=lambda place: (place[0], -place[1]), default=None)


def _stands(text: str, name: str) -> int:
    """Where a name stands as words of its own, -1 for nowhere."""
    at = text.find(name)
    while at >= 0 and (text[at - 1 : at].isalnum() or text[at + len(name) : at + len(name) + 1].isalnum()):
        at = text.find(name, at + 1)
    return at


def _plain(text: str) -> str:
    """Lower case and spaces, character for character."""
    lowered = text.lower()
    if len(lowered) != len(text):  # the small form of İ is two characters
        lowered = "".join(small if len(small := one.lower()) == 1 else one for one in text)
    return _OTHER_SPACE.sub(" ", lowered)


def _names(answer: Spot) -> frozenset[str]:
    """The answer, its aliases, and both as TriviaQA normalises them: lower case, without punctuation and articles."""
    found = [answer.text("Value"), *answer.texts("Aliases"), *answer.texts("NormalizedAliases")]
    plain = {" ".join(_plain(one).split()) for one in found}
    return frozenset(one for one in plain if any(letter.isalnum() for letter in one))


def _documents(question: Spot, *, labelled: bool) -> Iterator[Document]:
    text, name = question.text("Question"), question.text("QuestionId")
    names = _names(question.inner("Answer")) if labelled else frozenset[str]()
    for key, folder in EVIDENCE.items():
        for page in question.each(key) if key in question else ():
            file = page.text("Filename")
            if not file or PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts:
                raise page.wrong(f"'Filename' must lead to a file below evidence/{folder}, found {quoted(file)}")
            yield Document(f"{name}--{file}", text, f"{folder}/{file}", names)
