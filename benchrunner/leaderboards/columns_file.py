"""Words in columns, a sentence's below one another, the predicted tag in the last: what scorers of tags read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

from benchrunner.data.iob_tags import OUTSIDE, as_iob2, iob_labels
from benchrunner.errors import PluginError
from benchrunner.file_faults import Faults, either, quoted
from benchrunner.leaderboards.file_kind import Answers, FileKind, Wanted
from benchrunner.leaderboards.text_file import decoded, encoded, lines_of

if TYPE_CHECKING:
    import pyarrow as pa

DOCUMENT = "document"
"""The rows' column that counts documents, where they know any."""

_SEPARATOR = re.compile(r"[ \t\r\n]")
"""What ends a column or a line in some reader; other white space, as U+2028, is part of a word."""


@dataclass(frozen=True)
class _Sentence:
    """One sentence of a file."""

    line: int
    """On which it begins."""
    words: list[list[str]]
    """The fields of each of its lines."""
    opens: bool
    """Whether a border stands before it."""


@final
@dataclass(frozen=True)
class Columns(FileKind):
    """One space between columns, a blank line between sentences, a border line between documents."""

    columns: tuple[str, ...]
    """Of the rows, in this order: the words first, the gold tags last. The predicted tags follow."""
    types: tuple[str, ...]
    """Of entities: a tag is O, or B- or I- and a type."""
    border: tuple[str, ...]
    """The fields of a border line, one a column."""

    def __post_init__(self) -> None:
        if len(self.columns) < 2 or not self.types:
            raise PluginError("Columns need the words, the gold tags, and at least one type of entity.")
        if len(self.border) != len(self.columns):
            raise PluginError(f"A border line has {len(self.columns)} fields, one a column, not {len(self.border)}.")

    @property
    def compares(self) -> tuple[str, ...]:
        return self.columns

    @cached_property
    def _tags(self) -> set[str]:
        return set(iob_labels(self.types))

    @cached_property
    def _expected(self) -> str:
        return f"expected O, or B- or I- and {either(self.types)}"

    def write(self, name: str, answers: Answers) -> bytes:
        assert answers.table is not None  # `compares` asked for it
        faults, lines = Faults(name, "sentence"), list[str]()
        columns = [answers.table.column(one).to_pylist() for one in self.columns]
        opening = _opening(answers.table)
        for at, (*fields, tags) in enumerate(zip(*columns, answers.values, strict=True)):
            if len({len(one) for one in (*fields, tags)}) > 1:
                faults.at(at, " ".join(tags), "expected one tag for each word")
                continue
            if opening and opening[at]:
                lines += [" ".join((*self.border, OUTSIDE)), ""]
            lines += [*self._lines(at, zip(*fields, tags, strict=True), faults), ""]
        faults.refuse()
        return encoded(lines)

    def _lines(self, sentence: int, words: Iterable[tuple[Any, ...]], faults: Faults) -> Iterator[str]:
        for word in words:
            for tag in word[-2:]:
                if tag not in self._tags:
                    faults.at(sentence, tag, self._expected)
            for one in word:
                if not one or _SEPARATOR.search(one):
                    faults.at(sentence, one, "expected a text without spaces, since spaces separate the columns")
            yield " ".join(word)

    def find_faults(self, content: bytes, wanted: Wanted, faults: Faults) -> None:
        text = decoded(content, faults, expected="one line for each word was")
        if text is None:
            return
        found = list(self._sentences(lines_of(text, faults), faults))
        wanted.check_count(len(found), "sentence", faults)
        regular = all(len(fields) == len(self.columns) + 1 for one in found for fields in one.words)
        if wanted.table is not None and regular:
            self._compare(found, wanted.table, faults)

    def _sentences(self, lines: Sequence[str], faults: Faults) -> Iterator[_Sentence]:
        words, opens, begin = list[list[str]](), False, 1
        for number, line in enumerate([*lines, ""], start=1):
            fields = line.split(" ") if line.strip(" \t") else []
            is_border = fields[:1] == [self.border[0]]
            if words and (is_border or not fields):
                yield _Sentence(begin, words, opens)
                words, opens = [], False
            if not fields:
                continue
            if len(fields) != len(self.columns) + 1 or "" in fields:
                faults.at(number, line, f"expected {len(self.columns) + 1} columns, with one space between them")
            else:
                self._check_tags(number, fields, {OUTSIDE} if is_border else self._tags, faults)
            opens = opens or is_border
            if not is_border:
                begin = begin if words else number
                words.append(fields)

    def _check_tags(self, number: int, fields: list[str], legal: set[str], faults: Faults) -> None:
        for tag in fields[-2:]:
            if tag not in legal:
                faults.at(number, tag, self._expected if len(legal) > 1 else "a border line is tagged O")

    def _compare(self, found: Sequence[_Sentence], table: pa.Table, faults: Faults) -> None:
        """Say the first sentence that is another one in the rows: those after it are most often the same fault."""
        words, gold = (table.column(one).to_pylist() for one in (self.columns[0], self.columns[-1]))
        opening = _opening(table)
        for at, sentence in enumerate(found[: len(words)]):
            difference = _difference(sentence, words[at], gold[at])
            if not difference and opening and at and sentence.opens != opening[at]:
                wanted = "a document begins" if opening[at] else "no document begins"
                difference = f"line {sentence.line}: {wanted} here; {self.border[0]} lines stand between documents"
            if difference:
                faults.say(f"{difference} (sentence {at:,} of the rows, counted from 0)")
                return


def _difference(sentence: _Sentence, words: list[str], gold: list[str]) -> str:
    """Where a sentence of a file is not the row that it should be; empty where it is."""
    for at, (fields, word) in enumerate(zip(sentence.words, words, strict=False)):
        if fields[0] != word:
            return f"line {sentence.line + at}: found the word {quoted(fields[0])}, where the rows have {quoted(word)}"
    if len(sentence.words) != len(words):
        return f"line {sentence.line}: a sentence of {len(sentence.words)} words, where the rows have {len(words)}"
    found = as_iob2(fields[-2] for fields in sentence.words)
    for at, (one, other) in enumerate(zip(found, as_iob2(gold), strict=True)):
        if one != other:
            tag = sentence.words[at][-2]
            return f"line {sentence.line + at}: found the gold tag {quoted(tag)}, where the rows have {quoted(other)}"
    return ""


def _opening(table: pa.Table) -> list[bool] | None:
    """Whether a document begins with each row; None where the rows do not know."""
    if DOCUMENT not in table.column_names:
        return None
    numbers = table.column(DOCUMENT).to_pylist()
    return [True, *(one != other for one, other in pairwise(numbers))] if numbers else []
