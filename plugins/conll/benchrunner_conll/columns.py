"""Reads column files: a word on each line with its tags beside it, and a blank line between sentences."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from benchrunner import (
    DataError,
    PluginError,
    Rows,
    Source,
    Workspace,
    as_iob2,
    find_file,
    quoted,
    read_text,
    searched_paths,
)
from benchrunner_conll.schemes import TAG, witnesses

DOCUMENT = "-DOCSTART-"
"""The first field of the border line that stands where a document begins."""

_NOTES = {"IOB1": "tags are in IOB1, read as IOB2", "IOB2": "tags are in IOB2", "": "all tags are O"}
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
"""Control characters that are no white space: escapes of a terminal, zero bytes and the like."""
_GAP = re.compile(r"[ \t]+")

Line = tuple[int, list[str]]
"""A line's number, counted from 1, and its fields."""


@final
@dataclass(frozen=True)
class ColumnFile(Source):
    """A column file below the user's data folder: separated by tabs or spaces, any line ends, IOB1 or IOB2.

    A file has all columns, all columns but the labels, two columns (words and labels) or one (words). The first line
    tells which. A line that begins with -DOCSTART- is no sentence: it begins a new number in the column `document`. A
    labelled file without such lines has no column `document`.
    """

    path: tuple[str, ...]
    """Paths relative to the data folder; the first file that exists is read."""
    columns: tuple[str, ...] = ("words", "labels")
    """Names of the file's columns, in the file's order."""
    labelled: bool = True
    """False ignores the labels, for a user's own file. Such a file without -DOCSTART- lines is one document."""

    def __post_init__(self) -> None:
        if len(set(self.columns)) != len(self.columns) or not {"words", "labels"} <= set(self.columns):
            raise PluginError(f"Columns need different names, with words and labels among them, not {self.columns}.")

    def at(self, path: Path) -> Source:
        return replace(self, path=(str(path.absolute()),))

    def unlabelled(self, label_columns: Collection[str]) -> Source:
        return replace(self, labelled=False)

    def where(self, workspace: Workspace) -> str:
        return searched_paths(workspace, self.path)

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        path = find_file(workspace, self.path)
        all_blocks = list(blocks(path))
        sentences = [block for block in all_blocks if not is_border(block)]
        if not sentences:
            raise DataError(f"{path}:1: no sentences; expected lines of a word and its tags.")
        names, notes = self._names(path, sentences), list[str]()
        columns = {
            name: [[fields[at] for _, fields in block] for block in sentences]
            for at, name in enumerate(names)
            if name != "labels" or self.labelled
        }
        if "labels" in columns:
            scheme = _scheme(path, sentences, columns["labels"])
            notes.append(_NOTES[scheme])
            columns["labels"] = [as_iob2(tags) for tags in columns["labels"]]
        table = pa.table({name: pa.array(values, pa.list_(pa.string())) for name, values in columns.items()})
        if len(sentences) < len(all_blocks) or not self.labelled:
            table = table.append_column("document", pa.array(_document_numbers(all_blocks), pa.int64()))
        return Rows(table, str(path), [block[0][0] for block in sentences], tuple(notes))

    def _names(self, path: Path, sentences: Sequence[Sequence[Line]]) -> tuple[str, ...]:
        """Name the columns that the file has. Every line must have as many columns as the first."""
        first, fields = sentences[0][0]
        without_labels = tuple(name for name in self.columns if name != "labels")
        layouts = {
            1: ("words",),
            len(without_labels): without_labels,
            2: ("words", "labels"),
            len(self.columns): self.columns,
        }
        if len(fields) not in layouts:
            expected = ", or ".join(" ".join(names) for _, names in sorted(layouts.items(), reverse=True))
            raise DataError(f"{path}:{first}: found {len(fields)} columns; expected {expected}.")
        check_width(path, sentences)
        return layouts[len(fields)]


def lines(path: Path) -> Iterator[Line]:
    """Yield every line of a file; a blank line has no fields."""
    for number, content in enumerate(read_text(path).split("\n"), start=1):
        if control := _CONTROL.search(content):
            raise DataError(
                f"{path}:{number}: the control character {control[0]!r}, which no word has; remove it from the file."
            )
        stripped = content.strip(" \t\r")
        yield number, _GAP.split(stripped) if stripped else []


def blocks(path: Path) -> Iterator[list[Line]]:
    """Yield the lines of each sentence of a file, and each -DOCSTART- line as a block of its own."""
    block: list[Line] = []
    for line in lines(path):
        border = line[1][:1] == [DOCUMENT]
        if block and (border or not line[1]):
            yield block
            block = []
        if border:
            yield [line]
        elif line[1]:
            block.append(line)
    if block:
        yield block


def is_border(block: Sequence[Line]) -> bool:
    """Whether a block is a -DOCSTART- line."""
    return block[0][1][0] == DOCUMENT


def check_width(path: Path, sentences: Sequence[Sequence[Line]]) -> None:
    """Raise a `DataError` for the first line that has another number of columns than the first line."""
    first, first_fields = sentences[0][0]
    width = len(first_fields)
    for block in sentences:
        for line, fields in block:
            if len(fields) != width:
                raise DataError(f"{path}:{line}: expected {width} columns as on line {first}, found {len(fields)}.")


def _document_numbers(all_blocks: Sequence[Sequence[Line]]) -> list[int]:
    """Number the documents from 0 and give each sentence its document's number; an empty document has no number."""
    numbers, number, has_sentences = list[int](), 0, False
    for block in all_blocks:
        if is_border(block):
            number, has_sentences = number + has_sentences, False
        else:
            numbers.append(number)
            has_sentences = True
    return numbers


def _scheme(path: Path, sentences: Sequence[Sequence[Line]], tags: Sequence[Sequence[str]]) -> str:
    """Name the scheme of a file's tags, empty where all tags are O; raises `DataError` where a file mixes schemes."""
    for block, sentence_tags in zip(sentences, tags, strict=True):
        for (line, _), tag in zip(block, sentence_tags, strict=True):
            if not TAG.fullmatch(tag):
                raise DataError(f"{path}:{line}: found the tag {quoted(tag)}; expected O, B-TYPE or I-TYPE.")
    places = witnesses(tags)
    if len(places) == 2:
        evidence = [
            f"{tags[row][at]} begins a phrase on line {sentences[row][at][0]}, as in {scheme}"
            for scheme, (row, at) in sorted(places.items())
        ]
        line = max(sentences[row][at][0] for row, at in places.values())
        schemes = f"two tag schemes in one file: {'; '.join(evidence)}"
        raise DataError(f"{path}:{line}: {schemes}. Write all tags in one scheme.")
    return next(iter(places), "")
