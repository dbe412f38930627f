"""Guesses for `new task --from FILE`: what a data file asks, and which of its columns hold texts and labels."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from benchrunner import RequestError, quoted, shortened
from benchrunner_kit.column_roles import (
    CLASSES,
    Columns,
    known_pair,
    longest_text,
    named,
    numbers_of,
    repeated,
    two_texts,
    written,
)
from benchrunner_kit.unknown_layouts import rows_of

_GRADES = 12
"""Whole numbers of more values than this are a regression."""
_LABELS = ("label", "labels", "gold", "target", "class", "category", "y", "score", "rating", "grade", "similarity")
_ROLES = {"train": "train", "training": "train", "dev": "dev", "validation": "dev", "valid": "dev", "val": "dev"}
_ROLES |= {"test": "test"}
_ROLE = re.compile(rf"(?<![a-z])({'|'.join(_ROLES)})(?![a-z])", re.IGNORECASE)


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
    guesses = (_guess_ranking, _guess_tags, _guess_spans, _guess_choices)
    if not any(guess_kind(columns, guess) for guess_kind in guesses):
        _guess_texts(columns, guess, path)
    _say_unused(columns, guess)
    guess.tables["format"] = form
    _guess_splits(path, guess)
    return guess


def _guess_ranking(columns: Columns, guess: Guess) -> bool:
    """Guess candidates of a query with a grade for each: a list of texts and an equally long list of whole numbers."""
    lists = [name for name, values in columns.items() if _are_lists(values)]
    for grades in lists:
        numbers = [value for row in columns[grades] for value in row]
        if not all(isinstance(value, int) and not isinstance(value, bool) and value >= 0 for value in numbers):
            continue
        for texts in lists:
            pairs = zip(columns[texts], columns[grades], strict=True)
            is_text = any(" " in str(text) for row in columns[texts] for text in row)
            query = longest_text(columns, {texts, grades})
            if is_text and query is not None and all(len(left) == len(right) for left, right in pairs):
                why = "a query, and a list of texts with a grade for each, which is 0 for those that do not fit"
                places = {"a": query, "choices": texts, "label": grades}
                metrics = ["ranking/wikiqa:ndcg@10", "ranking/wikiqa:map"]
                guess.ask("benchrunner_ranking:Rank", why, places, metrics=metrics)
                guess.unsure.append('rankings need the plugin of `pip install "benchrunner[ranking]"`')
                return True
    return False


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
    """Guess that rows are questions about a context, by the names of the columns; return whether they seem to be."""
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
    label = named(columns, _LABELS)
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
    text = longest_text(columns, taken)
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
    label = named(columns, _LABELS) or repeated(columns)
    if label is None:
        raise RequestError(
            f"{path}: no column looks like a label: none is named label, and none has few values. Its columns are "
            f"{', '.join(map(repr, columns))}. Write the file by hand: docs/files.md lists the columns of each problem."
        )
    texts = known_pair(columns)
    if texts is None and (texts := two_texts(columns, label)):
        guess.unsure.append(
            f"'{texts[0]}' and '{texts[1]}' are taken for a pair of texts: is one of them not to be read?"
        )
    texts = texts or [longest_text(columns, {label})]
    if texts[0] is None:
        raise RequestError(f"{path}: besides '{label}', no column holds texts.")
    places = dict(zip("ab", texts, strict=False))
    values = [value for value in columns[label] if value not in (None, "")]
    joined = _joined_labels(values)
    if joined:
        why = f"'{label}' holds {len(joined)} labels with commas between them, or none"
        guess.ask("multi-label", why, {**places, "labels": label}, labels=joined)
        return
    if len(values) < len(columns[label]):
        guess.unsure.append(f"'{label}' is empty in {len(columns[label]) - len(values):,} rows, which are errors")
    if _are_lists(values):
        known = sorted({str(part) for value in values for part in value})
        why = f"'{label}' holds lists of {len(known)} labels"
        guess.ask("multi-label", why, {**places, "labels": label}, labels=known)
    else:
        _guess_label({**places, "label": label}, values, guess, path)


def _joined_labels(values: Sequence[Any]) -> list[str]:
    """Return the labels of texts that join several with commas; none unless each label is a part of two such texts."""
    texts = set[str]()
    counts = Counter[str]()
    for value in values:
        if not isinstance(value, str):
            return []
        if value not in texts:
            texts.add(value)
            counts.update(part.strip() for part in value.split(","))
    if len(counts) == len(texts) or len(counts) > CLASSES or numbers_of(sorted(texts)) is not None:
        return []
    is_joined = any("," in text for text in texts)
    return sorted(counts) if is_joined and min(counts.values()) > 1 else []


def _guess_label(places: Mapping[str, Any], values: Sequence[Any], guess: Guess, path: Path) -> None:
    """Guess whether the label column holds labels or numbers."""
    label = places["label"]
    numbers = numbers_of(values)
    counts = Counter(map(written, values))
    if numbers is not None and (any(number % 1 for number in numbers) or len(counts) > _GRADES):
        low, high = float(math.floor(min(numbers))), float(math.ceil(max(numbers)))
        why = f"'{label}' holds numbers from {min(numbers):g} to {max(numbers):g}"
        guess.ask("regress", why, places, low=low, high=high)
        guess.unsure.append(f"the range is that of this file, rounded outwards: low = {low:g}, high = {high:g}")
        return
    if not 2 <= len(counts) <= CLASSES:
        reason = f"'{label}' has {len(counts):,} values, which are no labels"
        raise RequestError(f"{path}: {reason}. Write the file by hand: docs/files.md says how.")
    shown = ", ".join(f"{name} {shortened(count)}" for name, count in counts.most_common(5))
    guess.ask("classify", f"'{label}' has {len(counts)} values ({shown})", places, labels=sorted(counts))
    if numbers is not None and len(counts) > 2:
        guess.unsure.append(f"the numbers in '{label}' are taken for labels without order: or is it a regression?")
    rare = [name for name, count in counts.items() if count == 1]
    if rare:
        guess.unsure.append(f"labels that only one row has: {', '.join(rare[:5])}: is one misspelled?")


def _say_unused(columns: Columns, guess: Guess) -> None:
    """Name every column of the file that the guessed task does not read."""
    used = set[str]()
    for place in guess.tables["columns"].values():
        used.update(place if isinstance(place, list) else (place, place.partition(".")[0]))
    for name in columns:
        if name not in used:
            guess.said.append(f"column {quoted(name)} is not used")


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
