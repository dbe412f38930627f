"""Files with a word on each line, its tags beside it, and a blank line between sentences."""

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
"""The first field of a line that stands where a document begins."""

_NOTES = {"IOB1": "tags are in IOB1, read as IOB2", "IOB2": "tags are in IOB2", "": "all tags are O"}
_GAP = re.compile(r"[ \t]+")

Line = tuple[int, list[str]]
"""Its number, counted from 1, and its fields."""


@final
@dataclass(frozen=True)
class ColumnFile(Source):
    """A column file below the user's data folder: tabs or spaces, whatever line ends, IOB1 or IOB2.

    A file may have all columns, all but the labels, two (words and labels) or one (words); the first line tells.
    Lines that begin with -DOCSTART- are no sentences: they begin a new number in the column `document`, which is
    left out where a labelled file has no such line.
    """

    path: tuple[str, ...]
    """Relative to the data folder; the first that exists is read."""
    columns: tuple[str, ...] = ("words", "labels")
    """What the file's columns are called, in their order."""
    labelled: bool = True
    """False passes over labels, for a user's own file; that is one document where it has no -DOCSTART- line."""

    def __post_init__(self) -> None:
        if len(set(self.columns)) != len(self.columns) or not {"words", "labels"} <= set(self.columns):
            raise PluginError(f"Columns have different names, words and labels among them, unlike {self.columns}.")

    def at(self, path: Path) -> Source:
        return replace(self, path=(str(path.absolute()),))

    def unlabelled(self, label_columns: Collection[str]) -> Source:
        return replace(self, labelled=False)

    def where(self, workspace: Workspace) -> str:
        return searched_paths(workspace, self.path)

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        found = find_file(workspace, self.path)
        every = list(blocks(found))
        sentences = [block for block in every if not is_border(block)]
        if not sentences:
            raise DataError(f"{found}:1: no sentences; a word and its tags on each line were expected.")
        names, notes = self._names(found, sentences), list[str]()
        columns = {
            name: [[fields[at] for _, fields in block] for block in sentences]
            for at, name in enumerate(names)
            if name != "labels" or self.labelled
        }
        if "labels" in columns:
            scheme = _scheme(found, sentences, columns["labels"])
            notes.append(_NOTES[scheme])
            columns["labels"] = [as_iob2(tags) for tags in columns["labels"]]
        table = pa.table({name: pa.array(values, pa.list_(pa.string())) for name, values in columns.items()})
        if len(sentences) < len(every) or not self.labelled:
            table = table.append_column("document", pa.array(_documents(every), pa.int64()))
        return Rows(table, str(found), [block[0][0] for block in sentences], tuple(notes))

    def _names(self, path: Path, sentences: Sequence[Sequence[Line]]) -> tuple[str, ...]:
        """The names of the columns that the file has; every line has as many as the first."""
        first, fields = sentences[0][0]
        without = tuple(name for name in self.columns if name != "labels")
        known = {1: ("words",), len(without): without, 2: ("words", "labels"), len(self.columns): self.columns}
        if len(fields) not in known:
            layouts = ", or ".join(" ".join(names) for _, names in sorted(known.items(), reverse=True))
            raise DataError(f"{path}:{first}: found {len(fields)} columns; expected {layouts}.")
        check_width(path, sentences)
        return known[len(fields)]


def lines(path: Path) -> Iterator[Line]:
    """Every line; a blank one has no fields."""
    for number, content in enumerate(read_text(path).split("\n"), start=1):
        stripped = content.strip(" \t\r")
        yield number, _GAP.split(stripped) if stripped else []


def blocks(path: Path) -> Iterator[list[Line]]:
    """The sentences, and each line that begins a document as a block of its own."""
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
    """Whether a block is the beginning of a document."""
    return block[0][1][0] == DOCUMENT


def check_width(path: Path, sentences: Sequence[Sequence[Line]]) -> None:
    """A `DataError` for the first line that has not as many columns as the first one."""
    first, fields = sentences[0][0]
    for block in sentences:
        for line, others in block:
            if len(others) != len(fields):
                raise DataError(
                    f"{path}:{line}: expected {len(fields)} columns as on line {first}, found {len(others)}."
                )


def _documents(every: Sequence[Sequence[Line]]) -> list[int]:
    """The number of each sentence's document, from 0; a document without sentences has none."""
    found, number, filled = list[int](), 0, False
    for block in every:
        if is_border(block):
            number, filled = number + filled, False
        else:
            found.append(number)
            filled = True
    return found


def _scheme(path: Path, sentences: Sequence[Sequence[Line]], tags: Sequence[Sequence[str]]) -> str:
    """The scheme of a file's tags, empty where all are O; both in one file are an error: either would be a guess."""
    for block, found in zip(sentences, tags, strict=True):
        for (line, _), tag in zip(block, found, strict=True):
            if not TAG.fullmatch(tag):
                raise DataError(f"{path}:{line}: found the tag {quoted(tag)}; expected O, B-TYPE or I-TYPE.")
    seen = witnesses(tags)
    if len(seen) == 2:
        told = [
            f"{tags[row][at]} begins a phrase on line {sentences[row][at][0]}, as in {scheme}"
            for scheme, (row, at) in sorted(seen.items())
        ]
        line = max(sentences[row][at][0] for row, at in seen.values())
        raise DataError(f"{path}:{line}: two tag schemes in one file: {'; '.join(told)}. Write it all in one of them.")
    return next(iter(seen), "")
