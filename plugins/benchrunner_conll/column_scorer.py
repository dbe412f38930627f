"""Scores column files that hold gold and predicted tags, as conlleval does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import final

from benchrunner import DataError, Rows, Score, Scored, Scorer, quoted
from benchrunner_conll.conlleval import evaluate
from benchrunner_kinds import WordColumns, iob_tags

_BENCHRUNNER_HEADER = ["index", "prediction"]
_END = "the end of a sentence"
_FILE = WordColumns("", {"words": 0, "gold": -2, "predicted": -1})
"""The layout of the files, to read their lines."""
_HEAD = 100
"""Number of blocks that are looked at to recognize a file: enough to meet a word that does not look like a tag."""

Line = tuple[int, list[str]]
"""A line's number, counted from 1, and its fields."""


@final
@dataclass(frozen=True)
class ConllEval(Scorer):
    """Scores files of lines `token ... gold predicted`, with a blank line between sentences, as conlleval does.

    Like the script, it counts -DOCSTART- lines as tokens. Their tags are right as a rule, so the accuracy is a little
    higher with these lines.
    """

    labels: tuple[str, ...]
    """The tags that a file may have."""
    needs_gold = False

    def recognizes(self, path: Path) -> bool:
        try:
            blocks = list(islice(_FILE.blocks(path), _HEAD))
        except DataError:  # not a text file; the error is raised where the file is read
            return False
        head = [fields for _, fields in chain.from_iterable(blocks)]
        return head[:1] != [_BENCHRUNNER_HEADER] and any(_looks_tagged(fields) for fields in head)

    def score(self, path: Path, gold: Rows | None, files: Mapping[str, Path]) -> Scored:
        tagged = list(_FILE.blocks(path))
        self._check(path, tagged)
        if gold is not None:
            sentences = [block for block in tagged if not _FILE.is_border(block)]
            _compare(path, sentences, gold)
        evaluation = evaluate(_column(tagged, -2), _column(tagged, -1))
        scores = {name: Score(value) for name, value in evaluation.figures.items()}
        return Scored(scores, str(evaluation), answers=list(chain.from_iterable(_column(tagged, -1))))

    def _check(self, path: Path, tagged: list[list[Line]]) -> None:
        if not tagged:
            raise DataError(f"{path}:1: the file is empty; lines of 'token ... gold predicted' were expected.")
        first, fields = tagged[0][0]
        if len(fields) < 3:
            raise DataError(f"{path}:{first}: expected 'token ... gold predicted', found {len(fields)} columns.")
        _FILE.width(path, tagged)  # raises a `DataError` if the lines have different numbers of columns
        for line, fields in chain.from_iterable(tagged):
            for tag in fields[-2:]:
                if tag not in self.labels:
                    raise DataError(f"{path}:{line}: found the tag {quoted(tag)}; expected {', '.join(self.labels)}.")


def _looks_tagged(fields: Sequence[str]) -> bool:
    """Decide whether a line is a word with two tags, and not a row of tags alone as in benchrunner's own layout."""
    tags = [iob_tags.TAG.fullmatch(field) is not None for field in fields]
    return len(fields) > 2 and all(tags[-2:]) and not tags[0]


def _column(tagged: Sequence[Sequence[Line]], at: int) -> list[list[str]]:
    columns = list[list[str]]()
    for sentence in tagged:
        columns.append([fields[at] for _, fields in sentence])
    return columns


def _compare(path: Path, sentences: Sequence[Sequence[Line]], gold: Rows) -> None:
    """Raise a `DataError` for the first line whose word or gold tag differs from the rows."""
    labelled = "labels" in gold.table.column_names
    words_in_file = _in_file(sentences, labelled=labelled)
    words_in_rows = _in_rows(gold, labelled=labelled)
    for line_and_word, row_and_word in zip_longest(words_in_file, words_in_rows):
        if line_and_word is None:
            row, expected = row_and_word
            raise DataError(f"{path}: ends where {gold.where(row)} goes on with {expected}.")
        line, word = line_and_word
        if row_and_word is None:
            raise DataError(f"{path}:{line}: found {word}, where {gold.origin} has ended.")
        row, expected = row_and_word
        if word != expected:
            raise DataError(f"{path}:{line}: found {word}, where {gold.where(row)} has {expected}.")


def _in_file(sentences: Sequence[Sequence[Line]], *, labelled: bool) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of every word in a file; the text ends in the tag in IOB2 where rows have labels."""
    for block in sentences:
        tags = iob_tags.as_iob2(fields[-2] for _, fields in block)
        for (line, fields), tag in zip(block, tags, strict=True):
            yield line, f"{fields[0]!r} {tag}" if labelled else repr(fields[0])
        yield block[-1][0], _END


def _in_rows(gold: Rows, *, labelled: bool) -> Iterator[tuple[int, str]]:
    """Yield the row and the text of every word in the rows, like `_in_file`."""
    sentences = gold.table.column("words").to_pylist()
    labels = gold.table.column("labels").to_pylist() if labelled else [[]] * len(sentences)
    for row, (words, tags) in enumerate(zip(sentences, labels, strict=True)):
        for word, tag in zip_longest(words, tags):
            yield row, f"{word!r} {tag}" if labelled else repr(word)
        yield row, _END
