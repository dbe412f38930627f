"""The official scorers: figures of a JSON file of answers, equal to the official scripts' to the last digit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import final

from benchrunner import DataError, Rows, Score, Scored, Scorer
from benchrunner_squad.answer_files import (
    note_outside,
    note_unanswered,
    note_unknown,
    read_answers,
    read_probabilities,
    require_all,
)
from benchrunner_squad.comparing import EXACT_OR_NONE, F1_OR_NONE, exact, f1, percent

CERTAIN = 1.0
"""The script for 2.0 replaces an answer by "no answer" if the probability of "no answer" is above this value. True
probabilities never are."""


class JsonScorer(Scorer):
    """Reads files `{question id: answer}`."""

    def recognizes(self, path: Path) -> bool:
        try:
            with path.open("rb") as file:
                start = file.read(256).removeprefix(b"\xef\xbb\xbf").lstrip()
        except OSError:
            return False
        return path.suffix.lower() == ".json" or start.startswith(b"{")


@final
class AnsweredScorer(JsonScorer):
    """The scorer of SQuAD 1.1, evaluate-v1.1.py. A question without an entry counts 0."""

    def score(self, path: Path, gold: Rows | None, files: Mapping[str, Path]) -> Scored:
        right, answers = _right_answers(gold), read_answers(path)
        pairs = [(right[question], answers[question]) for question in right if question in answers]
        figures: dict[str, float] = {
            "exact_match": percent((exact(*pair) for pair in pairs), len(right)),
            "f1": percent((f1(*pair) for pair in pairs), len(right)),
        }
        return _scored(figures, [*note_unanswered(path, right, answers), *note_unknown(path, right, answers)])


@final
class AnsweredOrNoneScorer(JsonScorer):
    """The scorer of SQuAD 2.0, evaluate-v2.0.py. The empty answer says that there is no answer."""

    options = {"na-prob": "JSON {id: probability that there is no answer}: adds best_exact and best_f1"}

    def score(self, path: Path, gold: Rows | None, files: Mapping[str, Path]) -> Scored:
        right, answers = _right_answers(gold), read_answers(path)
        require_all(
            path, right, answers, "The official script leaves such questions out, so its figures would be of the rest."
        )
        exacts = {question: EXACT_OR_NONE(texts, answers[question]) for question, texts in right.items()}
        f1s = {question: F1_OR_NONE(texts, answers[question]) for question, texts in right.items()}
        notes = list(note_unknown(path, right, answers))
        if "na-prob" not in files:
            return _scored(_figures(right, exacts, f1s), notes)
        probabilities = read_probabilities(files["na-prob"])
        require_all(files["na-prob"], right, probabilities, "The official script would fail.")
        notes += [
            *note_unknown(files["na-prob"], right, probabilities),
            *note_outside(files["na-prob"], probabilities),
        ]
        replaced = {
            question: float(not texts) for question, texts in right.items() if probabilities[question] > CERTAIN
        }
        figures = _figures(right, exacts | replaced, f1s | replaced)
        for name, values in (("exact", exacts), ("f1", f1s)):
            figures |= _best_figures(name, values, right, answers, probabilities)
        return _scored(figures, notes)


def _best_figures(
    name: str,
    values: Mapping[str, float],
    right: Mapping[str, list[str]],
    answers: Mapping[str, str],
    probabilities: Mapping[str, float],
) -> dict[str, float]:
    """Compute the best figure over all thresholds, and its threshold."""
    steps = [
        (probability, _gain(right[question], answers[question], values[question]))
        for question, probability in probabilities.items()
        if question in right
    ]
    best, threshold = best_cut(steps, sum(not texts for texts in right.values()))
    return {f"best_{name}": 100.0 * best / len(right), f"best_{name}_thresh": threshold}


def best_cut(steps: Iterable[tuple[float, float]], nothing_answered: float) -> tuple[float, float]:
    """Find the highest total, and the probability up to which answers are kept for it, as the official script does.

    A step is a question's probability of "no answer" and the change of the total if the question is answered.
    `nothing_answered` is the total if no question is answered. Questions are taken one after another, those with equal
    probabilities in the given order, so the best total may lie between two equal probabilities, where no threshold
    could cut. The probability 0.0 means that no answer is kept.
    """
    total = best = nothing_answered
    cut = 0.0
    for probability, gain in sorted(steps, key=lambda step: step[0]):
        total += gain
        if total > best:
            best, cut = total, probability
    return best, cut


def _gain(right: list[str], answer: str, value: float) -> float:
    """Compute the change of a total when a question that was left unanswered is answered."""
    return value if right else -float(bool(answer))


def _figures(
    right: Mapping[str, list[str]], exacts: Mapping[str, float], f1s: Mapping[str, float]
) -> dict[str, float | None]:
    """Compute the figures of all questions, and of those with and without an answer; None if there are none."""
    parts = {
        "": list(right),
        "HasAns_": [question for question, texts in right.items() if texts],
        "NoAns_": [question for question, texts in right.items() if not texts],
    }
    figures: dict[str, float | None] = {}
    for prefix, questions in parts.items():
        for name, values in (("exact", exacts), ("f1", f1s)):
            mean = percent((values[question] for question in questions), len(questions)) if questions else None
            figures[prefix + name] = mean
        figures[f"{prefix}total"] = len(questions)
    return figures


def _scored(figures: Mapping[str, float | None], notes: Iterable[str]) -> Scored:
    scores = {
        name: Score(None, "there are no such questions") if value is None else Score(value)
        for name, value in figures.items()
    }
    lines = [f"  {name:<17} {_shown(name, score)}" for name, score in scores.items()]
    return Scored(scores, "\n".join(lines), tuple(notes))


def _shown(name: str, score: Score) -> str:
    if score.value is None:
        return f"absent: {score.reason}"
    return f"{score.value:.2f}" if isinstance(score.value, float) and "thresh" not in name else f"{score.value:,}"


def _right_answers(gold: Rows | None) -> dict[str, list[str]]:
    """Return the right answers by question id."""
    if gold is None or "answers" not in gold.table.column_names:
        rows = "There are no questions" if gold is None else f"{gold.origin}: there are no questions"
        raise DataError(f"{rows} with answers to score against: give --gold FILE or a labelled --split.")
    columns = (gold.table.column(name).to_pylist() for name in ("id", "answers"))
    return dict(zip(*columns, strict=True))
