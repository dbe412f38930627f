"""The official scorers: figures of a JSON file of answers, equal to the official scripts' to the last digit."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, final

from benchrunner import DataError, Rows, Score, Scored, Scorer, json_files, quoted
from benchrunner_squad.comparing import EXACT_OR_NONE, F1_OR_NONE, Comparison, exact, f1, percent

CERTAIN = 1.0
"""The script for 2.0 replaces an answer by "no answer" if the value for "no answer" is above this number.

A probability never is. Some systems write other values, such as differences of scores.
"""


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
        right = _right_answers(gold)
        answers = read_answers(path)
        notes = list(_note_unknown(path, right, answers))
        unanswered = [question for question in right if question not in answers]
        if unanswered:
            share = _share(path, unanswered, right, "questions have no answer")
            notes.insert(0, f"{share}: each counts 0, as in the official script")
        answered = {question: texts for question, texts in right.items() if question in answers}
        exacts = _compared(exact, answered, answers)
        f1s = _compared(f1, answered, answers)
        figures = {"exact_match": percent(exacts.values(), len(right)), "f1": percent(f1s.values(), len(right))}
        return _scored(figures, notes, answers)


@final
class AnsweredOrNoneScorer(JsonScorer):
    """The scorer of SQuAD 2.0, evaluate-v2.0.py. The empty answer says that there is no answer."""

    options = {"na-prob": "JSON {id: probability that there is no answer}: adds best_exact and best_f1"}

    def score(self, path: Path, gold: Rows | None, files: Mapping[str, Path]) -> Scored:
        right = _right_answers(gold)
        answers = read_answers(path)
        reason = "The official script leaves such questions out, so its figures would be of the rest."
        _require_all(path, right, answers, reason)
        exacts = _compared(EXACT_OR_NONE, right, answers)
        f1s = _compared(F1_OR_NONE, right, answers)
        notes = list(_note_unknown(path, right, answers))
        if "na-prob" not in files:
            return _scored(_figures(right, exacts, f1s), notes, answers)
        file = files["na-prob"]
        probabilities = read_probabilities(file)
        _require_all(file, right, probabilities, "The official script would fail.")
        notes += _note_unknown(file, right, probabilities)
        notes += _note_outside(file, probabilities)
        replaced = dict[str, float]()
        for question, texts in right.items():
            if probabilities[question] > CERTAIN:
                replaced[question] = 0.0 if texts else 1.0
        figures = _figures(right, exacts | replaced, f1s | replaced)
        for name, values in (("exact", exacts), ("f1", f1s)):
            steps = list[tuple[float, float]]()
            for question, probability in probabilities.items():
                if question in right:
                    loss = 1.0 if answers[question] else 0.0  # of answering a question that has no answer
                    steps.append((probability, values[question] if right[question] else -loss))
            best, threshold = best_cut(steps, sum(not texts for texts in right.values()))
            figures[f"best_{name}"] = 100.0 * best / len(right)
            figures[f"best_{name}_thresh"] = threshold
        return _scored(figures, notes, answers)


def _compared(compare: Comparison, right: Mapping[str, list[str]], answers: Mapping[str, str]) -> dict[str, float]:
    """Compare the answer to each question with the right ones."""
    return {question: compare(texts, answers[question]) for question, texts in right.items()}


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
            best = total
            cut = probability
    return best, cut


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
        count = len(questions)
        for name, values in (("exact", exacts), ("f1", f1s)):
            chosen = [values[question] for question in questions]
            figures[prefix + name] = percent(chosen, count) if count else None
        figures[f"{prefix}total"] = count
    return figures


def _scored(figures: Mapping[str, float | None], notes: Iterable[str], answers: Mapping[str, str]) -> Scored:
    scores = dict[str, Score]()
    lines = list[str]()
    for name, value in figures.items():
        score = Score(None, "there are no such questions") if value is None else Score(value)
        scores[name] = score
        lines.append(f"  {name:<17} {_shown(name, score)}")
    return Scored(scores, "\n".join(lines), tuple(notes), list(answers.values()))


def _shown(name: str, score: Score) -> str:
    if score.value is None:
        return f"absent: {score.reason}"
    return f"{score.value:.2f}" if isinstance(score.value, float) and "thresh" not in name else f"{score.value:,}"


def _right_answers(gold: Rows | None) -> dict[str, list[str]]:
    """Return the right answers by question id."""
    if gold is None or "answers" not in gold.table.column_names:
        rows = "There are no questions" if gold is None else f"{gold.origin}: there are no questions"
        raise DataError(f"{rows} with answers to score against: give --gold FILE or a labelled --split.")
    questions = gold.table.column("id").to_pylist()
    return dict(zip(questions, gold.table.column("answers").to_pylist(), strict=True))


def read_answers(path: Path) -> dict[str, str]:
    """Read the answers of a file, by question id."""
    answers = _read_by_id(path, "answers")
    for question, value in answers.items():
        if not isinstance(value, str):
            raise DataError(f"{path}: id {quoted(question)}: expected an answer as text, found {quoted(value)}.")
    return answers


def read_probabilities(path: Path) -> dict[str, float]:
    """Read the probabilities of "no answer" of a file, by question id. Values outside of 0 to 1 are accepted."""
    probabilities = _read_by_id(path, "probabilities")
    for question, value in probabilities.items():
        if type(value) not in (int, float) or not -math.inf < value < math.inf:
            place = f"{path}: id {quoted(question)}"
            raise DataError(f"{place}: expected a probability from 0 to 1, found {quoted(value)}.")
    return probabilities


def _read_by_id(path: Path, content: str) -> dict[str, Any]:
    values = json_files.read_json(path)
    if not isinstance(values, dict):
        raise DataError(f"{path}: expected an object of {content} by question id, found {quoted(values)}.")
    return values


def _require_all(path: Path, questions: Collection[str], entries: Collection[str], reason: str) -> None:
    """Raise a `DataError` with the reason if a question has no entry in the file."""
    missing = [question for question in questions if question not in entries]
    if missing:
        raise DataError(f"{_share(path, missing, questions, 'questions have no entry')}. {reason}")


def _note_unknown(path: Path, questions: Collection[str], entries: Collection[str]) -> Iterable[str]:
    """Yield a note on the file's entries for unknown questions, if there are any."""
    unknown = [entry for entry in entries if entry not in questions]
    if unknown:
        yield f"{_share(path, unknown, entries, 'entries are for unknown questions')}: ignored"


def _share(path: Path, part: list[str], whole: Collection[str], fault: str) -> str:
    return f"{path}: {len(part):,} of {len(whole):,} {fault}, the first is {quoted(part[0])}"


def _note_outside(path: Path, probabilities: Mapping[str, float]) -> Iterable[str]:
    """Yield a note on the values that are no probabilities, if there are any."""
    outside = [question for question, value in probabilities.items() if not 0 <= value <= 1]
    if outside:
        first = outside[0]
        yield (
            f"{path}: {len(outside):,} values are not from 0 to 1, the first is {probabilities[first]} for "
            f'{quoted(first)}: above 1, the official script replaces the answer by "no answer"'
        )
