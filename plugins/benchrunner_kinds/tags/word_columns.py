"""Read files with a word and its tags on each line, and a blank line between sentences."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from benchrunner import (
    DataError,
    PluginError,
    Rows,
    Workspace,
    arrow_array,
    arrow_table,
    check_encoding,
    quoted,
    read_text,
    sources,
)
from benchrunner_kinds.tags.iob_tags import TAG, as_iob2, schemes

_GAP = re.compile(r"[ \t]+")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]")
"""Control characters that are no white space: escapes of a terminal, zero bytes and the like."""
_CONTROL_IN_UTF8 = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
"""These and U+0080 to U+009F, the further control characters of Unicode.

Only in UTF-8 are the further ones faults. In a file of Windows-1252 that is read as Latin-1, they are its quotes and
dashes, which are bytes from 0x80 to 0x9F.
"""

_NOTES = {
    ("IOB1",): "tags are in IOB1, read as IOB2",
    ("IOB2",): "tags are in IOB2",
    ("IOB1", "IOB2"): "tags are in IOB1 and IOB2, read as IOB2",
    (): "all tags are O",
}

Word = tuple[int, list[str]]
"""The line of a word, counted from 1, and its fields."""


@dataclass(frozen=True)
class WordColumns(sources.FileSource):
    """A file with a word on each line, its tags beside it, and a blank line between sentences. A row is a sentence.

    The tags may be of any kind, such as parts of speech. Each column becomes a list with an entry for each word.
    """

    columns: Mapping[str, int] = field(default_factory=lambda: {"words": 0, "labels": -1})
    """Name of the task's column -> place of the file's column: 0 is the first, -1 the last."""
    iob: bool = False
    """Whether the labels are IOB tags, in the scheme IOB1 or IOB2. They are rewritten in IOB2."""
    layouts: tuple[tuple[str, ...], ...] = ()
    """Names of all columns of a file, in order, for corpora whose files differ: the first layout that has as many names
    as the file has columns is used, and not the places in `columns`. Names that `columns` lacks are skipped."""
    separator: str | None = None
    """Separator between columns; None is any number of blanks and TABs."""
    border: str = "-DOCSTART-"
    """First field of a line that stands where a document begins. If there are such lines, the column `document` has the
    number of each sentence's document."""
    one_document: bool = False
    """Whether a file without such lines is one document. `unlabelled` sets it, for a user's own file."""
    ignored: str = ""
    """Regular expression; a line that begins with a match is no word. "#|[0-9]+[-.]" skips comments and ranges."""
    encoding: str | tuple[str, ...] = "utf-8"
    """Encoding of the file, or several: the first in which the whole file is text."""
    label_column: str = "labels"
    """The task's column that `iob` applies to."""

    def __post_init__(self) -> None:
        if not self.columns or (isinstance(self.encoding, tuple) and not self.encoding):
            raise PluginError("WordColumns needs one column or more, and an encoding.")
        for encoding in self._encodings:
            check_encoding(encoding)
        if self.ignored:
            self._ignores([""])

    def unlabelled(self, label_columns: Collection[str]) -> Self:
        return replace(super().unlabelled(label_columns), one_document=bool(self.border))

    @property
    def _encodings(self) -> tuple[str, ...]:
        return (self.encoding,) if isinstance(self.encoding, str) else self.encoding

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        path = self.file(workspace)
        blocks = list(self.blocks(path))
        sentences = [block for block in blocks if not self.is_border(block)]
        if not sentences:
            raise DataError(f"{path}:1: no sentences; expected a word and its tags on each line.")
        width = self.width(path, sentences)
        columns = {}
        for name, place in self._places(path, sentences[0][0][0], width).items():
            columns[name] = [_fields_at(sentence, place) for sentence in sentences]
        notes = list[str]()
        if self.iob and self.label_column in columns:
            notes.append(self._scheme(path, sentences, columns[self.label_column]))
            columns[self.label_column] = [as_iob2(tags) for tags in columns[self.label_column]]
        table = arrow_table(columns, pa.list_(pa.string()))
        if len(sentences) < len(blocks) or self.one_document:
            table = table.append_column("document", arrow_array(self._document_numbers(blocks), pa.int64()))
        return Rows(table, str(path), [sentence[0][0] for sentence in sentences], tuple(notes))

    def blocks(self, path: Path) -> Iterator[list[Word]]:
        """Yield the words of each sentence of a file, and each border line as a block of its own."""
        block = list[Word]()
        for number, fields in self._lines(path):
            is_border = bool(self.border) and fields[:1] == [self.border]
            if block and (is_border or not fields):
                yield block
                block = []
            if is_border:
                yield [(number, fields)]
            elif fields:
                block.append((number, fields))
        if block:
            yield block

    def is_border(self, block: Sequence[Word]) -> bool:
        """Whether a block is a border line."""
        return bool(self.border) and block[0][1][0] == self.border

    @staticmethod
    def width(path: Path, blocks: Sequence[Sequence[Word]]) -> int:
        """Return the number of columns, or raise a `DataError` for a line with another number than the first line."""
        first, fields = blocks[0][0]
        width = len(fields)
        for block in blocks:
            for line, fields in block:
                if len(fields) != width:
                    raise DataError(f"{path}:{line}: expected {width} columns as on line {first}, found {len(fields)}.")
        return width

    def _lines(self, path: Path) -> Iterator[Word]:
        """Yield every line that is not ignored; a blank line has no fields."""
        text, encoding = self._text(path)
        is_utf8 = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
        control = _CONTROL_IN_UTF8 if is_utf8 else _CONTROL
        lines = text.split("\n")
        ignored = self._ignores(lines) if self.ignored else [False] * len(lines)
        for number, line in enumerate(lines, start=1):
            if ignored[number - 1]:
                continue
            stripped = line.strip(" \t\r") if self.separator is None else line.rstrip("\r")
            if character := control.search(line):
                raise DataError(
                    f"{path}:{number}: the control character {character[0]!r}, which no word has; remove it from the "
                    "file."
                )
            if "\r" in stripped.rstrip("\r"):
                raise DataError(
                    f"{path}:{number}: a carriage return inside the line; end lines as on Linux or Windows."
                )
            if not stripped.strip(" \t"):
                yield number, []
            elif self.separator is None:
                yield number, _GAP.split(stripped)
            else:
                yield number, stripped.split(self.separator)

    def _ignores(self, lines: Sequence[str]) -> Any:
        """Return whether each line is ignored; the time grows with the lines alone, whatever the pattern."""
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            pattern = rf"^[ \t]*({self.ignored})" if self.separator is None else f"^({self.ignored})"
            return pc.match_substring_regex(pa.array([line.rstrip(" \t\r") for line in lines]), pattern).to_pylist()
        except pa.ArrowInvalid as error:
            raise PluginError(f"ignored is no regular expression: {quoted(self.ignored)}: {error}.") from None

    def _text(self, path: Path) -> tuple[str, str]:
        """Return the text of a file and its encoding."""
        *others, last = self._encodings
        for encoding in others:
            try:
                return read_text(path, encoding=encoding), encoding
            except DataError:
                continue
        return read_text(path, encoding=last), last

    def _places(self, path: Path, line: int, width: int) -> Mapping[str, int]:
        """Return the place of each column in a file with as many columns as `width`."""
        if not self.layouts:
            needed = max([place + 1 if place >= 0 else -place for place in self.columns.values()], default=1)
            if width < needed:
                raise DataError(f"{path}:{line}: found {width} columns; {needed} or more were expected.")
            return self.columns
        layout = next((names for names in self.layouts if len(names) == width), None)
        if layout is None:
            expected = ", or ".join(" ".join(names) for names in sorted(self.layouts, key=len, reverse=True))
            raise DataError(f"{path}:{line}: found {width} columns; expected {expected}.")
        return {name: place for place, name in enumerate(layout) if name in self.columns}

    def _document_numbers(self, blocks: Sequence[Sequence[Word]]) -> list[int]:
        """Number the documents from 0 and give each sentence its document's number; empty documents have no number."""
        numbers = []
        number = 0
        for block in blocks:
            if not self.is_border(block):
                numbers.append(number)
            elif number in numbers[-1:]:
                number += 1
        return numbers

    def _scheme(self, path: Path, sentences: Sequence[Sequence[Word]], tags: Sequence[Sequence[str]]) -> str:
        """Name the scheme of the tags for a note, or raise a `DataError` for a tag that is none."""
        for sentence, sentence_tags in zip(sentences, tags, strict=True):
            for (line, _), tag in zip(sentence, sentence_tags, strict=True):
                if not TAG.fullmatch(tag):
                    raise DataError(f"{path}:{line}: found the tag {quoted(tag)}; expected O, B-TYPE or I-TYPE.")
        return _NOTES[tuple(sorted(schemes(tags)))]


def _fields_at(sentence: Sequence[Word], place: int) -> list[str]:
    """Return the field of each word at a place."""
    return [fields[place] for _, fields in sentence]
