"""The official scorers: a JSON file of answers by question id against labelled questions, to the last digit."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, final

from benchrunner import DataError, Rows, Score, Scored, Scorer, quoted, read_json
from benchrunner_squad.comparing import EXACT_OR_NONE, F1_OR_NONE, exact, f1, percent
from benchrunner_squad.jsonfiles import kind

CERTAIN = 1.0
"""The script for 2.0 takes an answer back where "none" is more probable than this: never, if all are probabilities."""


class JsonScorer(Scorer):
    """Reads `{question id: answer}`."""

    def recognizes(self, path: Path) -> bool:
        try:
            with path.open("rb") as file:
                start = file.read(256).removeprefix(b"\xef\xbb\xbf").lstrip()
        except OSError:
            return False
        return path.suffix.lower() == ".json" or start.startswith(b"{")


@final
class AnsweredScorer(JsonScorer):
    """evaluate-v1.1.py: a question without an entry counts 0."""

    def score(self, path: Path, gold: Rows | None, files: Mapping[str, Path]) -> Scored:
        right, said = _questions(gold), _answers(path)
        there = [(right[name], said[name]) for name in right if name in said]
        figures: dict[str, float] = {
            "exact_match": percent((exact(*one) for one in there), len(right)),
            "f1": percent((f1(*one) for one in there), len(right)),
        }
        return _scored(figures, [*_unanswered(path, right, said), *_unasked(path, right, said)])


@final
class AnsweredOrNoneScorer(JsonScorer):
    """evaluate-v2.0.py: "" answers that there is none."""

    options = {"na-prob": "JSON {id: probability that there is no answer}: adds best_exact and best_f1"}

    def score(self, path: Path, gold: Rows | None, files: Mapping[str, Path]) -> Scored:
        right, said = _questions(gold), _answers(path)
        _need_all(path, right, said, "The official script would not count them, and its figures would be of the rest.")
        notes = list(_unasked(path, right, said))
        exacts = {name: EXACT_OR_NONE(some, said[name]) for name, some in right.items()}
        f1s = {name: F1_OR_NONE(some, said[name]) for name, some in right.items()}
        if "na-prob" not in files:
            return _scored(_figures(right, exacts, f1s), notes)
        none = _probabilities(files["na-prob"])
        _need_all(files["na-prob"], right, none, "The official script would fail.")
        notes += [*_unasked(files["na-prob"], right, none), *_improbable(files["na-prob"], none)]
        sure = {name: float(not right[name]) for name in right if none[name] > CERTAIN}
        figures = _figures(right, exacts | sure, f1s | sure)
        for name, raw in (("exact", exacts), ("f1", f1s)):
            steps = [(none[one], _step(right[one], said[one], raw[one])) for one in none if one in right]
            best, cut = best_cut(steps, sum(not some for some in right.values()))
            figures |= {f"best_{name}": 100.0 * best / len(right), f"best_{name}_thresh": cut}
        return _scored(figures, notes)


def best_cut(steps: Iterable[tuple[float, float]], nothing_answered: float) -> tuple[float, float]:
    """The highest total and the probability up to which answers stand for it, as the official script finds them.

    `steps` are each question's probability of "none" and what answering it adds to `nothing_answered`, the total when
    no question is. Questions are taken one at a time, equal probabilities in the order given: the best total may lie
    between two of them, where no threshold could cut. 0.0 stands for answering none.
    """
    total = best = nothing_answered
    cut = 0.0
    for probability, gain in sorted(steps, key=lambda step: step[0]):
        total += gain
        if total > best:
            best, cut = total, probability
    return best, cut


def _step(right: list[str], answer: str, value: float) -> float:
    """What an answer adds to a total in which its question was left unanswered."""
    return value if right else -float(bool(answer))


def _figures(
    right: Mapping[str, list[str]], exacts: Mapping[str, float], f1s: Mapping[str, float]
) -> dict[str, float | None]:
    """Of all questions, of those with an answer and of those without; None where there are no such questions."""
    parts = {
        "": list(right),
        "HasAns_": [name for name, some in right.items() if some],
        "NoAns_": [name for name, some in right.items() if not some],
    }
    found: dict[str, float | None] = {}
    for prefix, names in parts.items():
        for name, values in (("exact", exacts), ("f1", f1s)):
            found[prefix + name] = percent((values[one] for one in names), len(names)) if names else None
        found[f"{prefix}total"] = len(names)
    return found


def _scored(figures: Mapping[str, float | None], notes: Iterable[str]) -> Scored:
    scores = {
        name: Score(None, "there are no such questions") if value is None else Score(value)
        for name, value in figures.items()
    }
    lines = [f"  {name:<17} {_shown(name, one)}" for name, one in scores.items()]
    return Scored(scores, "\n".join(lines), tuple(notes))


def _shown(name: str, score: Score) -> str:
    if score.value is None:
        return f"absent: {score.reason}"
    return f"{score.value:.2f}" if isinstance(score.value, float) and "thresh" not in name else f"{score.value:,}"


def _questions(gold: Rows | None) -> dict[str, list[str]]:
    """Question id -> its right answers."""
    if gold is None or "answers" not in gold.table.column_names:
        where = "No questions" if gold is None else f"{gold.origin}: these questions"
        raise DataError(f"{where} with answers are there to score against: give --gold FILE or a labelled --split.")
    columns = (gold.table.column(name).to_pylist() for name in ("id", "answers"))
    return dict(zip(*columns, strict=True))


def _answers(path: Path) -> dict[str, str]:
    found = _by_id(path, "answers")
    for name, value in found.items():
        if not isinstance(value, str):
            raise DataError(f"{path}: id {quoted(name)}: expected an answer as text, found {kind(value)}.")
    return found


def _probabilities(path: Path) -> dict[str, float]:
    found = _by_id(path, "probabilities")
    for name, value in found.items():
        if type(value) not in (int, float) or not -math.inf < value < math.inf:
            raise DataError(f"{path}: id {quoted(name)}: expected a probability from 0 to 1, found {kind(value)}.")
    return found


def _by_id(path: Path, wanted: str) -> dict[str, Any]:
    found = read_json(path)
    if not isinstance(found, dict):
        raise DataError(f"{path}: expected an object of {wanted} by question id, found {kind(found)}.")
    return found


def _need_all(path: Path, wanted: Collection[str], found: Collection[str], reason: str) -> None:
    if missing := [name for name in wanted if name not in found]:
        many = f"{len(missing):,} of {len(wanted):,} questions have no entry"
        raise DataError(f"{path}: {many}, the first is {quoted(missing[0])}. {reason}")


def _unanswered(path: Path, right: Collection[str], said: Collection[str]) -> Iterable[str]:
    if missing := [name for name in right if name not in said]:
        many = f"{len(missing):,} of {len(right):,} questions have no answer"
        yield f"{path}: {many}, the first is {quoted(missing[0])}: each counts 0, as the official script has it"


def _unasked(path: Path, right: Collection[str], found: Collection[str]) -> Iterable[str]:
    if more := [name for name in found if name not in right]:
        many = f"{len(more):,} of {len(found):,} entries are for no question here"
        yield f"{path}: {many}, the first is {quoted(more[0])}: ignored"


def _improbable(path: Path, none: Mapping[str, float]) -> Iterable[str]:
    if outside := [name for name, value in none.items() if not 0 <= value <= 1]:
        yield (
            f"{path}: {len(outside):,} values are no probabilities, the first is {none[outside[0]]} for "
            f"{quoted(outside[0])}: above 1 the official script takes the answer back"
        )
