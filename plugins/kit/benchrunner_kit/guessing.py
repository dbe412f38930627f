"""Guesses for `new task --from FILE`: what a data file asks, and which of its columns hold texts and labels."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from benchrunner import RequestError, shortened
from benchrunner_kit.unknown_layouts import rows_of

_CLASSES = 50
"""The most labels of a classification."""
_GRADES = 12
"""Whole numbers of more values than this are a regression."""
_LABELS = ("label", "labels", "gold", "target", "class", "category", "y", "score", "rating", "grade", "similarity")
_PAIRS = (
    ("sentence1", "sentence2"),
    ("text1", "text2"),
    ("text_a", "text_b"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("query", "passage"),
    ("a", "b"),
)
_ROLES = {"train": "train", "training": "train", "dev": "dev", "validation": "dev", "valid": "dev", "val": "dev"}
_ROLES |= {"test": "test"}
_ROLE = re.compile(rf"(?<![a-z])({'|'.join(_ROLES)})(?![a-z])", re.IGNORECASE)
Columns = Mapping[str, Sequence[Any]]


@final
@dataclass
class Guess:
    """A task file with what was guessed for it."""

    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Name of a table -> its keys; the keys of the empty name stand before all tables."""
    said: list[str] = field(default_factory=list)
    """What was guessed, and why."""
    unsure: list[str] = field(default_factory=list)
    """What a reader must look at."""

    @property
    def text(self) -> str:
        """The text of the task file."""
        blocks = []
        for name, keys in self.tables.items():
            if keys:
                lines = [f"[{name}]"] if name else []
                lines += [f"{key} = {toml(value)}" for key, value in keys.items()]
                blocks.append("\n".join(lines) + "\n")
        return "\n".join(blocks)

    def ask(self, problem: str, why: str, columns: Mapping[str, Any], **keys: Any) -> None:
        """Note what is asked, with the columns of the problem and its further keys."""
        self.tables[""] = {"problem": problem, **keys}
        self.tables["columns"] = dict(columns)
        self.said.append(f"problem = {toml(problem)}: {why}")
        for name, place in columns.items():
            self.said.append(f"columns.{name} = {toml(place)}")


def toml(value: Any) -> str:
    """Write a text, a number, true, false or a list of such values in TOML, which writes them as JSON does."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def guessed(path: Path) -> Guess:
    """Guess a task from the file that it learns from; a `RequestError` if the file cannot be read or asks nothing."""
    guess, form = Guess(), dict[str, Any]()
    rows = rows_of(path, form, guess.unsure)
    if not rows:
        raise RequestError(f"{path}: no rows, from which a task could be guessed.")
    columns = {}
    for name in rows[0]:
        columns[name] = [row.get(name) for row in rows]
    if not (_guess_tags(columns, guess) or _guess_spans(columns, guess) or _guess_choices(columns, guess)):
        _guess_texts(columns, guess, path)
    guess.tables["format"] = form
    _guess_splits(path, guess)
    return guess


def _guess_tags(columns: Columns, guess: Guess) -> bool:
    """Guess labels of words: two columns of lists of texts that are equally long in every row."""
    lists = [name for name, values in columns.items() if _are_lists(values)]
    for words in lists:
        for labels in lists:
            pairs = list(zip(columns[words], columns[labels], strict=True))
            known = {str(label) for _, row in pairs for label in row}
            vocabulary = {str(word) for row, _ in pairs for word in row}
            is_like = words != labels and all(len(left) == len(right) for left, right in pairs)
            if is_like and len(known) < len(vocabulary):
                ordered = sorted(known, key=lambda label: (label != "O", label[2:], label))
                why = f"a list of words and a list of {len(known)} labels for them"
                guess.ask("tag", why, {"words": words, "labels": labels}, labels=ordered)
                return True
    return False


def _are_lists(values: Sequence[Any]) -> bool:
    return all(isinstance(value, list) for value in values)


def _guess_spans(columns: Columns, guess: Guess) -> bool:
    """Guess questions about a context, by the names of the columns."""
    answer = next((name for name in ("answers", "answer") if name in columns), None)
    if answer is None or not {"question", "context"} <= columns.keys():
        return False
    values = columns[answer]
    places = {"question": "question", "context": "context", "answers": answer}
    if all(isinstance(value, dict) and {"text", "answer_start"} <= value.keys() for value in values):
        places |= {"answers": f"{answer}.text", "starts": f"{answer}.answer_start"}
        texts = [value["text"] for value in values]
    else:
        texts = list(values)
        starts = next((name for name in ("answer_start", "start", "starts") if name in columns), None)
        if starts is not None:
            places["starts"] = starts
        else:
            guess.unsure.append("nothing says where answers begin: the first place in the context is taken")
    if "id" in columns:
        places = {"id": "id", **places}
    further = {"unanswerable": True} if not all(texts) else {}
    guess.ask("span", "the columns question, context and answer", places, **further)
    return True


def _guess_choices(columns: Columns, guess: Guess) -> bool:
    """Guess texts to choose from: a list of texts, or several columns with one name and a number."""
    label = _named(columns, _LABELS)
    if label is None:
        return False
    numbered: dict[str, list[str]] = {}
    for name in columns:
        if match := re.fullmatch(r"(choice|ending|option|answer)[_ -]?(\d|[a-e])", name, re.IGNORECASE):
            numbered.setdefault(match[1].lower(), []).append(name)
    choices: Any = next((names for names in numbered.values() if len(names) > 1), None)
    lists = [name for name in ("choices", "options", "endings", "candidates") if name in columns]
    further: dict[str, Any] = {}
    if choices is None and lists and all(isinstance(value, list) and value for value in columns[lists[0]]):
        choices, counts = lists[0], {len(value) for value in columns[lists[0]]}
        further = {"choices": counts.pop()} if len(counts) == 1 else {}
    if choices is None:
        return False
    taken = {label, *(choices if isinstance(choices, list) else [choices])}
    text = _longest_text(columns, taken)
    if text is None or not all(str(value).isdigit() for value in columns[label]):
        return False
    problem = "choose" if isinstance(choices, list) or further else "candidates"
    guess.ask(problem, "several texts to choose from, and the number of the right one", {"a": text}, **further)
    guess.tables["columns"] |= {"choices": choices, "label": label}
    if not any(str(value) == "0" for value in columns[label]):
        guess.unsure.append(f"'{label}' is never 0, but texts are counted from 0: does it count from 1?")
    return True


def _guess_texts(columns: Columns, guess: Guess, path: Path) -> None:
    """Guess a label or a number for a text or a pair of texts."""
    label = _named(columns, _LABELS) or _repeated(columns)
    if label is None:
        raise RequestError(
            f"{path}: no column looks like a label: none is named label, and none has few values. Its columns are "
            f"{', '.join(map(repr, columns))}. Write the file by hand: docs/files.md lists the columns of each problem."
        )
    texts = _pair(columns) or [_longest_text(columns, {label})]
    if texts[0] is None:
        raise RequestError(f"{path}: besides '{label}', no column holds texts.")
    places = dict(zip("ab", texts, strict=False))
    values = [value for value in columns[label] if value not in (None, "")]
    if len(values) < len(columns[label]):
        guess.unsure.append(f"'{label}' is empty in {len(columns[label]) - len(values):,} rows, which are errors")
    if _are_lists(values):
        known = sorted({str(part) for value in values for part in value})
        why = f"'{label}' holds lists of {len(known)} labels"
        guess.ask("multi-label", why, {**places, "labels": label}, labels=known)
    else:
        _guess_label({**places, "label": label}, values, guess, path)


def _guess_label(places: Mapping[str, Any], values: Sequence[Any], guess: Guess, path: Path) -> None:
    """Guess whether the label column holds labels or numbers."""
    label = places["label"]
    numbers = _numbers(values)
    counts = Counter(map(_written, values))
    if numbers is not None and (any(number % 1 for number in numbers) or len(counts) > _GRADES):
        low, high = min(numbers), max(numbers)
        guess.ask("regress", f"'{label}' holds numbers from {low:g} to {high:g}", places, low=low, high=high)
        guess.unsure.append(f"the range of the numbers is that of this file: low = {low:g}, high = {high:g}")
        return
    if not 2 <= len(counts) <= _CLASSES:
        reason = f"'{label}' has {len(counts):,} values, which are no labels"
        raise RequestError(f"{path}: {reason}. Write the file by hand: docs/files.md says how.")
    shown = ", ".join(f"{name} {shortened(count)}" for name, count in counts.most_common(5))
    guess.ask("classify", f"'{label}' has {len(counts)} values ({shown})", places, labels=sorted(counts))
    if numbers is not None and len(counts) > 2:
        guess.unsure.append(f"the numbers in '{label}' are taken for labels without order: or is it a regression?")
    rare = [name for name, count in counts.items() if count == 1]
    if rare:
        guess.unsure.append(f"labels that only one row has: {', '.join(rare[:5])}: is one misspelled?")


def _named(columns: Columns, names: Sequence[str]) -> str | None:
    """Return the first column whose name is one of some names, in any case."""
    by_name = {name.casefold(): name for name in columns}
    return next((by_name[name] for name in names if name in by_name), None)


def _repeated(columns: Columns) -> str | None:
    """Return the last column of few short values that repeat."""
    for name in reversed(list(columns)):
        values = {_written(value) for value in columns[name]}
        is_short = all(len(value) <= 40 for value in values)
        if is_short and 2 <= len(values) <= min(_CLASSES, len(columns[name]) // 2):
            return name
    return None


def _pair(columns: Columns) -> list[str | None] | None:
    """Return the two columns of a usual pair of texts."""
    for names in _PAIRS:
        found = [_named(columns, [name]) for name in names]
        if all(found):
            return found
    return None


def _longest_text(columns: Columns, taken: set[str]) -> str | None:
    """Return the column with the longest texts on average, among those that are not taken."""
    lengths = {}
    for name, values in columns.items():
        if name not in taken and all(isinstance(value, str) for value in values) and _numbers(values) is None:
            lengths[name] = sum(map(len, values))
    return max(lengths, key=lambda name: lengths[name]) if lengths else None


def _numbers(values: Sequence[Any]) -> list[float] | None:
    """Return the values as numbers; None if one of them is no number."""
    numbers = []
    for value in values:
        if isinstance(value, bool) or not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", str(value)):
            return None
        numbers.append(float(value))
    return numbers or None


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _guess_splits(path: Path, guess: Guess) -> None:
    """Guess which files beside the file hold the other splits: those whose names differ in the role alone."""
    splits = {"train": path.name}
    if role := _ROLE.search(path.stem):
        if _ROLES[role[1].lower()] != "train":
            guess.unsure.append(f"{path.name} is taken for training data, although its name says {role[1]}")
        for word, other in _ROLES.items():
            beside = path.with_name(f"{path.stem[: role.start()]}{word}{path.stem[role.end() :]}{path.suffix}")
            if beside.is_file() and beside.name not in splits.values():
                splits.setdefault(other, beside.name)
    guess.tables["splits"] = splits
    for name, file in splits.items():
        guess.said.append(f"splits.{name} = {toml(file)}")
    if "dev" not in splits:
        guess.unsure.append("no file looks like dev data: name one in [splits], or cross-validate with --folds 5")


def write_task_file(guess: Guess, data: Path, name: str | None, out: Path | None) -> Path:
    """Write the file of a guessed task beside its data, unless it is there; return its path."""
    stem = name or (data.stem if _ROLE.search(data.stem) is None else data.absolute().parent.name)
    path = data.parent / f"{re.sub(r'[^a-z0-9._-]+', '-', stem.lower()).strip('-._') or 'task'}.toml"
    if out is not None:
        path = out
        if out.suffix != ".toml" or out.absolute().parent.resolve() != data.absolute().parent.resolve():
            raise RequestError(f"--out {out}: give a .toml file in the folder of {data}, where its data are searched.")
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(guess.text)
    except FileExistsError:
        raise RequestError(f"{path} is there already, and is not overwritten: give a NAME, or remove it.") from None
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror}.") from None
    return path
