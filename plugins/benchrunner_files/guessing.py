"""Guesses for `new task --from FILE`: the task file of a simple table of texts with labels or numbers."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from benchrunner import RequestError, Workspace, quoted
from benchrunner_files.kinds import KINDS
from benchrunner_files.task_files import ROLES
from benchrunner_tasks import TABLE_SUFFIXES, table_file

_ROWS = 20_000
"""The most rows that are looked at."""
_CLASSES = 50
"""The most labels of a classification."""
_GRADES = 12
"""Whole numbers of more values than this are a regression."""
_LABELS = ("label", "labels", "gold", "target", "class", "category", "y", "score", "rating", "grade", "similarity")
_NO_TEXT = re.compile(r"(.*[_ -])?(id|ids|uid|guid|uuid|idx|index|key|url|date|time|year|split)", re.IGNORECASE)
"""Names of columns that hold no text to read."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?")
_ROLE = re.compile(rf"(?<![a-z])({'|'.join(ROLES)})(?![a-z])", re.IGNORECASE)
Columns = Mapping[str, Sequence[Any]]


@final
@dataclass
class Guess:
    """The keys of a task file, and what a reader must look at."""

    keys: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text of the task file."""
        lines = []
        for key, value in self.keys.items():
            if isinstance(value, dict):
                lines += ["", f"[{key}]", *(f"{name} = {_toml(part)}" for name, part in value.items())]
            else:
                lines.append(f"{key} = {_toml(value)}")
        return "\n".join(lines) + "\n"

    def write(self, data: Path, name: str | None) -> Path:
        """Write the task file beside its data, unless a file is there; return its path."""
        stem = name or (data.stem if _ROLE.search(data.stem) is None else data.absolute().parent.name)
        path = data.parent / f"{re.sub(r'[^a-z0-9._-]+', '-', stem.lower()).strip('-._') or 'task'}.toml"
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(self.text)
        except FileExistsError:
            raise RequestError(f"{path} is there already, and is not overwritten: give a NAME, or remove it.") from None
        except OSError as error:
            raise RequestError(f"{path} cannot be written: {error.strerror}.") from None
        return path


def _toml(value: Any) -> str:
    """Write a text, a number or a list of them in TOML, which writes them as JSON does."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def guessed(path: Path) -> Guess:
    """Guess a task from the file that it learns from; a `RequestError` says why there is no guess."""
    columns = _columns(path)
    label = _label(columns)
    if label is None:
        raise _no_guess(path, f"no column is named label or repeats few values; the columns are {', '.join(columns)}")
    others = [name for name in columns if name != label]
    for name in columns:
        if name == "context" or any(isinstance(value, list | dict) for value in columns[name]):
            raise _no_guess(path, f"the column {name!r} is not one of a text or a pair with a label")
    texts = _texts(columns, others)
    if not texts:
        raise _no_guess(path, f"besides {label!r}, no column holds texts")
    guess = Guess()
    if len(texts) == 2:
        guess.notes.append(f"{texts[0]!r} and {texts[1]!r} are taken for a pair: is one of them not to be read?")
    else:
        texts = [max(texts, key=lambda name: sum(map(len, columns[name])))]
    _guess_answers(guess, label, [value for value in columns[label] if value not in (None, "")], path)
    guess.keys["columns"] = {**dict(zip("ab", texts, strict=False)), "label": label}
    unused = [repr(name) for name in others if name not in texts]
    if unused:
        guess.notes.append(f"columns that are not used: {', '.join(unused)}")
    _guess_splits(path, guess)
    return guess


def _no_guess(path: Path, reason: str) -> RequestError:
    """Say why a file is not guessed, and what to write instead."""
    return RequestError(
        f"{path}: this file's task is not guessed: {reason}. Write a task file beside it with the keys problem, "
        f"[columns] and [splits], as docs/files.md shows. The problems are {', '.join(KINDS)}, or PACKAGE:Class for "
        "the problem of a plugin."
    )


def _columns(path: Path) -> Columns:
    """Read the columns of a table, of which the first rows are looked at."""
    if not path.is_file():
        raise RequestError(f"{path}: {'this is a folder' if path.is_dir() else 'there is no such file'}.")
    kind = TABLE_SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise _no_guess(path, "its suffix is not .csv, .tsv, .jsonl or .parquet")
    names = table_file(kind, path, {}).column_names(path)
    rows = table_file(kind, path, {name: name for name in names}).read(Workspace.from_environment())
    table = rows.table.slice(0, _ROWS)
    if not table.num_rows:
        raise RequestError(f"{path}: no rows, from which a task could be guessed.")
    columns: Columns = table.to_pydict()
    return columns


def _label(columns: Columns) -> str | None:
    """Return the column with a usual name of labels, or else the last column of few short values that repeat.

    Numbers larger than grades, such as years, and names of ids and dates count only where no other column can be one.
    """
    by_name = {name.casefold(): name for name in columns}
    for name in _LABELS:
        if name in by_name:
            return by_name[name]
    second = None
    for name in reversed(list(columns)):
        values = set(map(_written, columns[name]))
        is_short = all(len(value) <= 40 for value in values)
        if is_short and 2 <= len(values) <= min(_CLASSES, len(columns[name]) // 2):
            is_measure = max(_numbers(values - {"", "null"}), default=0) > _GRADES
            if not is_measure and not _NO_TEXT.fullmatch(name):
                return name
            second = second or name
    return second


def _texts(columns: Columns, names: Sequence[str]) -> list[str]:
    """List the columns of texts, which are no numbers, ids or categories."""
    texts = []
    for name in names:
        values = columns[name]
        if _NO_TEXT.fullmatch(name) or not all(isinstance(value, str) for value in values) or _numbers(values):
            continue
        is_category = len(set(values)) <= len(values) // 2 and not any(" " in value.strip() for value in values)
        if not is_category:
            texts.append(name)
    return texts


def _guess_answers(guess: Guess, label: str, values: Sequence[Any], path: Path) -> None:
    """Guess what the label column holds: labels or other numbers."""
    numbers = _numbers(values)
    counts = Counter(map(_written, values))
    if numbers and (any(number % 1 for number in numbers) or len(counts) > _GRADES):
        low, high = float(math.floor(min(numbers))), float(math.ceil(max(numbers)))
        guess.keys = {"problem": "regress", "low": low, "high": high}
        guess.notes.append(f"low and high are the range of {label!r} in this file, rounded outwards")
        return
    if not 2 <= len(counts) <= _CLASSES:
        raise _no_guess(path, f"{label!r} has {len(counts):,} values, which are no labels")
    guess.keys = {"problem": "classify", "labels": sorted(counts)}
    if numbers and len(counts) > 2:
        guess.notes.append(f"the numbers in {label!r} are taken for labels without order: or is it a regression?")
    if any("," in name for name in counts):
        guess.notes.append(f"{label!r} has labels with commas: are these several labels, of the problem multi-label?")
    rare = [quoted(name) for name, count in counts.items() if count == 1]
    if rare:
        guess.notes.append(f"labels that only one row has: {', '.join(rare[:5])}: is one misspelled?")


def _numbers(values: Collection[Any]) -> list[float]:
    """Return the values as numbers; none if one of them is no number."""
    if any(isinstance(value, bool) or not _NUMBER.fullmatch(str(value)) for value in values):
        return []
    return list(map(float, values))


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _guess_splits(path: Path, guess: Guess) -> None:
    """Guess which files beside the file hold the other splits: those whose names differ in the role alone."""
    splits = {"train": path.name}
    if role := _ROLE.search(path.stem):
        if ROLES[role[1].lower()] != "train":
            guess.notes.append(f"{path.name} is taken for training data, although its name says {role[1]}")
        for word, other in ROLES.items():
            beside = path.with_name(f"{path.stem[: role.start()]}{word}{path.stem[role.end() :]}{path.suffix}")
            if beside.is_file() and beside.name not in splits.values():
                splits.setdefault(other, beside.name)
    guess.keys["splits"] = splits
    if "dev" not in splits:
        guess.notes.append("no file looks like dev data: name one in [splits], or cross-validate with --folds 5")
