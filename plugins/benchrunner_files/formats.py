"""Formats of data files: which source reads a file, by its suffix or by the table [format], and its column names."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

from benchrunner import DataError, RequestError, Source, TextTable, quoted
from benchrunner_kinds import WordColumns
from benchrunner_tasks import TABLE_SUFFIXES, table_file

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

SUFFIXES: Mapping[str, str] = {**TABLE_SUFFIXES, **dict.fromkeys((".conll", ".iob", ".iob2", ".bio"), "words")}


@final
@dataclass(frozen=True)
class Format:
    """How data files are written. A file of JSON has an object on each line."""

    kind: Literal["csv", "tsv", "jsonl", "parquet", "words"] | None = None
    """None: as the suffix of the file says."""
    encoding: str = "utf-8"
    separator: str | None = None
    """Stands between columns; by default a comma in CSV, a TAB in TSV, and blanks or TABs in files of words."""
    quoted: bool | None = None
    """Whether quotes enclose fields; by default in CSV alone."""
    header: tuple[str, ...] | None = None
    """Names of the columns of a file without a header line."""
    iob: bool = False
    """Whether the labels of a file of words are IOB tags, which may be in the scheme IOB1."""
    ignored: str = ""
    """Regular expression of lines of a file of words that are no words, such as comments."""

    def of(self, path: Path) -> Format:
        """Return the format of a file; a `ValueError` if neither the format nor the file's name says its kind."""
        kind: Any = self.kind or SUFFIXES.get(path.suffix.lower())
        if kind is None:
            kinds = ", ".join(SUFFIXES)
            raise ValueError(f"{quoted(path.name)} has none of the suffixes {kinds}: give [format] with a kind")
        return replace(self, kind=kind)


def reader(form: Format, path: Path, columns: Mapping[str, Any]) -> Source:
    """Return the source that reads columns of a file of a format, whose kind is known."""
    kind = str(form.kind)
    if kind == "words":
        return WordColumns(
            str(path),
            columns,
            iob=form.iob,
            separator=form.separator,
            ignored=form.ignored,
            encoding=form.encoding,
            is_in_data_folder=False,
        )
    table = table_file(kind, path, columns, form.encoding)
    if not isinstance(table, TextTable):
        return table
    is_quoted = table.quoted if form.quoted is None else form.quoted
    return replace(table, names=form.header, separator=form.separator or table.separator, quoted=is_quoted)


def check_words(source: WordColumns, path: Path, labels: Collection[str]) -> None:
    """Raise a `DataError` if a user's file, whose name does not say its layout, is sentences instead of words.

    Sentences of equal length could be taken for words with their tags. Words have TABs, known labels, or other words on
    the next line and a blank line after the sentence.
    """
    if path.suffix.lower() in SUFFIXES or b"\t" in path.read_bytes():
        return
    sentences = [block for block in source.blocks(path) if not source.is_border(block)]
    words = list(chain.from_iterable(sentences))
    has_tags = all(len(fields) > 1 and fields[-1] in labels for _, fields in words)
    is_alone = len(words) == len(sentences) and len(words[0][1]) > 1
    if not has_tags and (len(sentences) == 1 or is_alone):
        raise DataError(f"{path}:1: expected a word on each line, and a blank line between sentences.")


def refuse_data_file(path: Path) -> None:
    """Raise a `RequestError` for a data file where a task is asked for; it says how its task file is made."""
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is not None and path.is_file():
        made = f"write its task file with 'benchrunner new task NAME --from {shlex.quote(str(path))}'"
        if kind == "words":
            made = "docs/files.md shows the task file of a file with a word on each line"
        raise RequestError(f"{path}: this is a data file, not a task: {made}.")
