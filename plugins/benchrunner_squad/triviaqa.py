"""TriviaQA in the form of SQuAD: its questions and documents, with each answer at the first place that names it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, final

from benchrunner import DataError, quoted, read_text
from benchrunner_squad.questions import Question, QuestionFile

EVIDENCE = {"EntityPages": "wikipedia", "SearchResults": "web"}
"""A question's list of documents -> the folder of `evidence` with their texts."""

TOKENS = 400
"""Number of tokens that are read from the beginning of a document (Devlin et al. 2019, 4.2).

A token is a word or another character that is not white space.
"""

_TOKEN = re.compile(r"\w+|[^\w\s]")
_OTHER_THAN_MARKS = re.compile(r"[^\W_]")
_OTHER_SPACE = re.compile(r"[^\S ]")
Document = tuple[str, str, str, frozenset[str]]
"""Id and text of a question, path of one of its documents, and names of the answer in lower case."""


@final
@dataclass(frozen=True)
class TriviaFile(QuestionFile):
    """A file of questions with their documents: `qa/FILE`, with the folder `evidence` beside `qa`.

    A row is a question with one of its documents, as in the official conversion. TriviaQA does not mark where a
    document answers the question: the row takes the first place that names the answer (distant supervision). A
    document without such a place is left out.
    """

    def questions(self, content: Any, path: Path, notes: list[str]) -> Iterator[Question]:
        evidence = path.parent.parent / "evidence"
        seen = set[Document]()
        listed = kept = 0
        for question in content["Data"]:
            names = _names(question["Answer"]) if self.is_labelled else frozenset[str]()
            for file, document in _documents(question):
                listed += 1
                text = evidence / document
                row = (question["QuestionId"], question["Question"], document, names)
                if row in seen:
                    continue
                seen.add(row)
                if not text.is_file():
                    raise DataError(
                        f"{path}: a document has no text: {text}. Unpack the archive's folder 'evidence' beside this "
                        "file's folder."
                    )
                context = beginning(read_text(text), TOKENS)
                place = first_place(context, names)
                if place is None and self.is_labelled:
                    continue
                kept += 1
                yield {
                    "id": f"{question['QuestionId']}--{file}",
                    "question": question["Question"],
                    "context": context,
                    "article": document,
                    "answers": [context[slice(*place)]] if place else [],
                    "starts": [place[0]] if place else [],
                }
        if listed > len(seen):
            notes.append(f"left out {listed - len(seen):,} of {listed:,} documents: listed twice for the same question")
        if len(seen) > kept:
            count = f"{len(seen) - kept:,} of {len(seen):,} documents"
            notes.append(f"left out {count}: their first {TOKENS:,} tokens do not name the answer")


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


def _names(answer: Mapping[str, Any]) -> frozenset[str]:
    """Collect the answer, its aliases, and TriviaQA's normalised forms (lower case, no punctuation, no articles)."""
    names = [answer["Value"], *answer["Aliases"], *answer["NormalizedAliases"]]
    plain = {" ".join(_plain(name).split()) for name in names}
    return frozenset(name for name in plain if _OTHER_THAN_MARKS.search(name))


def _documents(question: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of each document of a question, and its path below the folder `evidence`."""
    for key, folder in EVIDENCE.items():
        for page in question.get(key, ()):
            file = page["Filename"]
            path = PurePosixPath(file)
            if not file or path.is_absolute() or ".." in path.parts:
                raise ValueError(f"'Filename' must be a path below evidence/{folder}, found {quoted(file)}")
            yield file, f"{folder}/{file}"
