"""Column files: a word on each line with its tags, the predicted tag last. Scorers of tags read such files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

from benchrunner import Faults, PluginError, quoted
from benchrunner_kinds import iob_tags
from benchrunner_submit.file_kinds.file_kind import Answers, ExpectedRows, FileKind
from benchrunner_submit.file_kinds.spellings import either
from benchrunner_submit.file_kinds.text_files import decoded, encoded, lines_of

if TYPE_CHECKING:
    import pyarrow as pa

DOCUMENT = "document"
"""Column of the rows with the number of each row's document, where the data has documents."""

_SEPARATOR = re.compile(r"[ \t\r\n]")
"""White space that ends a column or a line in some reader. Other white space, such as U+2028, is part of a word."""


@dataclass(frozen=True)
class _Sentence:
    """One sentence of a file."""

    line: int
    """Number of its first line."""
    words: list[list[str]]
    """The fields of each of its lines."""
    begins_document: bool
    """Whether a border line precedes it."""


@final
@dataclass(frozen=True)
class Columns(FileKind):
    """One space between columns, a blank line between sentences, and a border line between documents."""

    columns: tuple[str, ...]
    """Columns of the rows, in this order: the words first, the gold tags last. The predicted tags follow them."""
    types: tuple[str, ...]
    """Types of phrases: a tag is O, or B- or I- and a type."""
    border: tuple[str, ...]
    """Fields of a border line, one for each column."""

    def __post_init__(self) -> None:
        if len(self.columns) < 2 or not self.types:
            raise PluginError("Columns need the words, the gold tags, and at least one type of phrase.")
        if len(self.border) != len(self.columns):
            raise PluginError(
                f"A border line has {len(self.columns)} fields, one for each column, not {len(self.border)}."
            )

    @property
    def row_columns(self) -> tuple[str, ...]:
        return self.columns

    def max_bytes(self, rows: int) -> int:
        return 2**20 + 2048 * rows  # sentences of about fourteen words, with room for long ones

    @cached_property
    def _tags(self) -> set[str]:
        return set(iob_tags.iob_labels(self.types))

    @cached_property
    def _expected_tag(self) -> str:
        return f"expected O, or B- or I- and {either(self.types)}"

    def write(self, name: str, answers: Answers) -> bytes:
        assert answers.table is not None  # a file of `row_columns` is written with the rows only
        faults = Faults(name, "sentence")
        lines = list[str]()
        columns = [answers.column(column) for column in self.columns]
        begins = _begins_document(answers.table)
        for row, (*fields, tags) in enumerate(zip(*columns, answers.values, strict=True)):
            if any(len(column) != len(tags) for column in fields):
                faults.at(row, " ".join(tags), "expected one tag for each word")
                continue
            if begins and begins[row]:
                lines += [" ".join((*self.border, iob_tags.OUTSIDE)), ""]
            for word in zip(*fields, tags, strict=True):
                self._check_word(row, word, faults)
                lines.append(" ".join(word))
            lines.append("")
        faults.refuse()
        return encoded(lines)

    def _check_word(self, row: int, fields: Sequence[str], faults: Faults) -> None:
        """Add the faults of a word with its tags that would make a line of the file unreadable."""
        self._check_tags(row, fields, faults)
        for text in fields:
            if not text or _SEPARATOR.search(text):
                faults.at(row, text, "expected a text without spaces, because spaces separate the columns")

    def read(self, content: bytes, expected: ExpectedRows, faults: Faults) -> Sequence[str]:
        sentences = list(self._sentences(lines_of(decoded(content, faults), faults), faults))
        expected.check_count(len(sentences), "sentence", faults)
        words = list[list[str]]()
        for sentence in sentences:
            words += sentence.words
        is_whole = all(len(fields) == len(self.columns) + 1 for fields in words)
        if expected.table is not None and is_whole:
            self._compare(sentences, expected.table, faults)
        return [fields[-1] for fields in words]

    def _sentences(self, lines: Sequence[str], faults: Faults) -> Iterator[_Sentence]:
        """Yield the sentences of a file and add the faults of its lines."""
        words = list[list[str]]()
        begins_document = False
        first = 1
        for number, line in enumerate([*lines, ""], start=1):
            fields = line.split(" ") if line.strip(" \t") else []
            is_border = fields[:1] == [self.border[0]]
            if words and (is_border or not fields):
                yield _Sentence(first, words, begins_document)
                words = []
                begins_document = False
            if not fields:
                continue
            if len(fields) != len(self.columns) + 1 or "" in fields:
                faults.at(number, line, f"expected {len(self.columns) + 1} columns, with one space between them")
            else:
                self._check_tags(number, fields, faults, is_border=is_border)
            begins_document = begins_document or is_border
            if not is_border:
                first = first if words else number
                words.append(fields)

    def _check_tags(self, place: int, fields: Sequence[str], faults: Faults, *, is_border: bool = False) -> None:
        for tag in fields[-2:]:
            if is_border and tag != iob_tags.OUTSIDE:
                faults.at(place, tag, "the tags of a border line are O")
            elif tag not in self._tags:
                faults.at(place, tag, self._expected_tag)

    def _compare(self, sentences: Sequence[_Sentence], table: pa.Table, faults: Faults) -> None:
        """Add a fault for the first sentence that differs from its row; later differences often have the same cause."""
        words = table.column(self.columns[0]).to_pylist()
        gold = table.column(self.columns[-1]).to_pylist()
        begins = _begins_document(table)
        for row, sentence in enumerate(sentences[: len(words)]):
            difference = _difference(sentence, words[row], gold[row])
            if not difference and begins and row and sentence.begins_document != begins[row]:
                expected = "a document begins" if begins[row] else "no document begins"
                difference = f"line {sentence.line}: {expected} here; documents are separated by {self.border[0]} lines"
            if difference:
                faults.say(f"{difference} (sentence {row:,} of the rows, counted from 0)")
                return


def _difference(sentence: _Sentence, words: list[str], gold: list[str]) -> str:
    """Describe where a sentence of a file differs from its row; empty where they are equal."""
    for at, (fields, word) in enumerate(zip(sentence.words, words, strict=False)):
        if fields[0] != word:
            return f"line {sentence.line + at}: found the word {quoted(fields[0])}, where the rows have {quoted(word)}"
    if len(sentence.words) != len(words):
        return f"line {sentence.line}: a sentence of {len(sentence.words)} words, where the rows have {len(words)}"
    written = [fields[-2] for fields in sentence.words]
    for at, (tag, expected) in enumerate(zip(iob_tags.as_iob2(written), iob_tags.as_iob2(gold), strict=True)):
        if tag != expected:
            place = f"line {sentence.line + at}"
            return f"{place}: found the gold tag {quoted(written[at])}, where the rows have {quoted(expected)}"
    return ""


def _begins_document(table: pa.Table) -> list[bool] | None:
    """Tell for each row whether a document begins with it; None where the rows have no documents."""
    if DOCUMENT not in table.column_names:
        return None
    begins = list[bool]()
    before = None
    for number in table.column(DOCUMENT).to_pylist():
        begins.append(number != before)
        before = number
    return begins
