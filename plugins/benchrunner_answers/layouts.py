"""Read the answers in files of any system: tables with named columns, objects by id, tags by word, plain lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner import DataError, Rows, Task, quoted, read_text, some_names
from benchrunner_answers.logs import ANSWER, Entry, read_log
from benchrunner_kinds import Tag
from benchrunner_tasks import TABLE_SUFFIXES, table_file

if TYPE_CHECKING:
    from benchrunner.results import Plugins

IDS = ("index", "idx", "id", "guid", "question_id")
"""Names of columns that say which row a line answers."""
ANSWERS = ("prediction", "predicted", "pred")
"""Names of columns with answers; the first that a file has is read."""
LABELS = ("answer", "label")
"""Names of columns with answers in a file that has ids beside them alone: beside texts, these are the right answers."""
DOCUMENT = "-DOCSTART-"
"""Word of a line between documents."""


def answers_in(path: Path, task: Task, rows: Rows, plugins: Plugins) -> list[Any]:
    """Return the answer to each row, as a plugin reads the file or in one of the layouts of this module.

    Raises a `DataError` that names the place of the first wrong answer, or rows without an answer.
    """
    log = read_log(path, plugins)
    if log is not None and (ANSWER in log.values or task.metrics[0].name in log.values):
        entries = log.entries(path, task.metrics[0].name)
    else:
        by_word = isinstance(task.problem, Tag) and path.suffix.lower() not in TABLE_SUFFIXES
        entries = _sentences(path, rows) if by_word else []
        entries = entries or list(_entries(path, rows))
    spellings = labels_by_text(task, plugins)
    return [_answer(entry, task, spellings) for entry in _in_order(path, entries, rows)]


def labels_by_text(task: Task, plugins: Plugins) -> dict[str, str]:
    """Collect the texts that boards and the task's own data files use for its labels: text -> label.

    A text that stands for different labels in different places is left out, because a guess could give a wrong score.
    """
    spellings = list[Mapping[str, str]]()
    for board in plugins.leaderboards.values():
        spellings += [file.kind.labels_by_text for file in board.files_of(task.name)]
    for split in task.splits.values():
        spellings += [getattr(source, "labels", {}) for source in split.sources]
    labels = dict[str, str]()
    ambiguous = set[str]()
    for spelling in spellings:
        for text, label in spelling.items():
            if labels.setdefault(text, label) != label:
                ambiguous.add(text)
    return {text: label for text, label in labels.items() if text not in ambiguous}


def _lines(path: Path) -> list[str]:
    """Return the lines of a text file, whatever system wrote them."""
    text = read_text(path, "is it a text file? Unpack archives first.").replace("\r\n", "\n")
    if not text.strip():
        raise DataError(f"{path}: the file is empty.")
    return text.removesuffix("\n").split("\n")


def _entries(path: Path, rows: Rows) -> Iterator[Entry]:
    """Yield the answers of a file in its own order."""
    kind = TABLE_SUFFIXES.get(path.suffix.lower(), "")
    lines = [] if kind == "parquet" else _lines(path)
    is_json = bool(lines) and lines[0].lstrip().startswith("{")
    pairs = _pairs("\n".join(lines)) if is_json else []
    if pairs:
        for row_id, value in pairs:
            yield Entry(f"{path}: {quoted(row_id)}", row_id, _text(value))
        return
    if kind or is_json or "\t" in lines[0]:
        kind = "jsonl" if is_json else kind or "tsv"
        if (table := _table(path, kind, rows)) is not None:
            yield from table
            return
    while len(lines) > len(rows) and not lines[-1]:  # an empty text may be the last answer
        lines.pop()
    for line, text in enumerate(lines, start=1):
        yield Entry(f"{path}:{line}", None, text)


def _pairs(text: str) -> list[tuple[str, Any]]:
    """Read an object from ids to answers; return nothing for JSON lines and what is no object."""
    try:
        pairs: list[tuple[str, Any]] = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return []
    return [] if any(name in (*ANSWERS, *LABELS) for name, _ in pairs) else pairs


def _table(path: Path, kind: str, rows: Rows) -> list[Entry] | None:
    """Read a table with a column of answers and perhaps one of ids; None for a text file without such a column."""
    names = table_file(kind, path, {}).column_names(path)
    columns = {}
    answers = (*ANSWERS, *LABELS) if set(names) <= {*LABELS, *IDS} else ANSWERS
    ids = sorted(IDS, key=lambda name: name not in rows.table.column_names)
    for column, known in (("answer", answers), ("id", ids)):
        if present := [name for name in known if name in names]:
            columns[column] = present[0]
    if "answer" not in columns:
        if kind in ("jsonl", "parquet") or any(name in names for name in LABELS):
            raise DataError(f"{path}: no column with answers, such as {ANSWERS[0]}; it has {some_names(names)}.")
        return None
    values: dict[str, list[Any]] = {column: [] for column in columns}
    lines = table_file(kind, path, columns).fill(path, values, [])
    entries = []
    for row, answer in enumerate(values["answer"]):
        place = f"{path}:{lines[row]}" if lines else f"{path}, row {row}"
        entries.append(Entry(place, _text(values["id"][row]) if "id" in values else None, _text(answer)))
    return entries


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _sentences(path: Path, rows: Rows) -> list[Entry]:
    """Read lines with a word and its tags, the answer last, and a blank line after each sentence; else nothing."""
    lines = _lines(path)
    if len(lines[0].split()) < 2 or "" not in lines:
        return []
    entries = list[Entry]()
    words = list[list[str]]()
    for number, line in enumerate([*lines, ""], start=1):
        fields = line.split()
        if fields and fields[0] != DOCUMENT:
            words.append(fields)
        elif words:
            place = f"{path}:{number - len(words)}"
            _check_words(place, [fields[0] for fields in words], len(entries), rows)
            entries.append(Entry(place, None, " ".join(fields[-1] for fields in words)))
            words = []
    return entries


def _check_words(place: str, words: Sequence[str], row: int, rows: Rows) -> None:
    """Raise a `DataError` if the words of a sentence are not those of its row."""
    if row < len(rows) and words != (expected := rows.table.column("words")[row].as_py()):
        raise DataError(
            f"{place}: the sentence {quoted(' '.join(words))} answers another row than {rows.where(row)}, "
            f"{quoted(' '.join(expected))}."
        )


def _in_order(path: Path, entries: Sequence[Entry], rows: Rows) -> list[Entry]:
    """Return the answers in the order of the rows; raise a `DataError` that names missing, unknown or repeated rows."""
    if all(entry.row_id is None for entry in entries):
        if len(entries) != len(rows):
            raise DataError(
                f"{path}: {len(entries):,} answer{'s' * (len(entries) != 1)} in the order of the rows, and "
                f"{rows.origin} has {len(rows):,} rows."
            )
        return list(entries)
    numbers = _numbers(entries, rows)
    found = dict[str, Entry]()
    for entry in entries:
        row_id = str(entry.row_id)
        if row_id not in numbers:
            raise DataError(f"{entry.place}: no row of {rows.origin} has the id {quoted(row_id)}.")
        if row_id in found:
            raise DataError(f"{entry.place}: the id {quoted(row_id)} was there before, at {found[row_id].place}.")
        found[row_id] = entry
    if missing := [row_id for row_id in numbers if row_id not in found]:
        raise DataError(f"{path}: no answer to {len(missing):,} of {len(rows):,} rows: {some_names(missing, 3)}.")
    return [found[row_id] for row_id in numbers]


def _numbers(entries: Sequence[Entry], rows: Rows) -> dict[str, int]:
    """Map ids to rows: the ids in a column of the rows if the answers have these, else their numbers from 0."""
    for name in IDS:
        if name in rows.table.column_names:
            ids = {str(row_id): row for row, row_id in enumerate(rows.table.column(name).to_pylist())}
            if len(ids) == len(rows) and entries[0].row_id in ids:
                return ids
    return {str(row): row for row in range(len(rows))}


def _answer(entry: Entry, task: Task, spellings: Mapping[str, str]) -> Any:
    """Return the answer that a text holds; raise a `DataError` that says what was expected."""
    try:
        return task.problem.parse(entry.text)
    except ValueError as reason:
        expected = str(reason)
    if entry.text in spellings:
        try:
            return task.problem.parse(spellings[entry.text])
        except ValueError:  # the spelling is of a board or a data file with other labels
            pass
    different = [spelling for spelling, label in spellings.items() if spelling != label]
    also = f" (or, as files spell them, {', '.join(different)})" if different else ""
    raise DataError(f"{entry.place}: found {quoted(entry.text)}; expected {expected}{also}.")
