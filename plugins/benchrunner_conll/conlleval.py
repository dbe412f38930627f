"""Counts phrases as `conlleval` does, the scorer of the CoNLL shared tasks, and formats the script's output."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchrunner import DataError
from benchrunner_kinds import iob_tags

Tags = Sequence[Sequence[str]]
"""The tags of each sentence."""

_TALLY_FIGURES = ("f1", "precision", "recall", "gold", "found", "correct")


@dataclass(frozen=True)
class Tally:
    """Counts of phrases. Figures are percentages; a figure whose denominator is 0 is 0, as in the script."""

    gold: int
    """Phrases in the gold tags."""
    found: int
    """Phrases in the predicted tags."""
    correct: int
    """Phrases in both: the same words with the same type."""

    @property
    def precision(self) -> float:
        return 100 * self.correct / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return 100 * self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def __str__(self) -> str:
        return f"precision: {self.precision:6.2f}%; recall: {self.recall:6.2f}%; FB1: {self.f1:6.2f}"


@dataclass(frozen=True)
class Evaluation:
    """Everything that the script counts."""

    tokens: int
    correct_tokens: int
    """Tokens whose predicted tag is equal to the gold tag."""
    types: Mapping[str, Tally]
    """Counts of each type that the gold or the predicted tags have, sorted by type as in the script."""

    @property
    def overall(self) -> Tally:
        """The counts of all types together."""
        tallies = self.types.values()
        gold = sum(tally.gold for tally in tallies)
        found = sum(tally.found for tally in tallies)
        correct = sum(tally.correct for tally in tallies)
        return Tally(gold, found, correct)

    @property
    def accuracy(self) -> float:
        """The percentage of tokens with the right tag."""
        return 100 * self.correct_tokens / self.tokens

    def __str__(self) -> str:
        """Format the evaluation exactly as the script prints it."""
        overall = self.overall
        counts = f"{overall.gold} phrases; found: {overall.found} phrases; correct: {overall.correct}."
        return "\n".join(
            [
                f"processed {self.tokens} tokens with {counts}",
                f"accuracy: {self.accuracy:6.2f}%; {overall}",
                *(f"{kind:>17}: {tally}  {tally.found}" for kind, tally in self.types.items()),
                "",
            ]
        )

    @property
    def figures(self) -> dict[str, float]:
        """Every figure by its name; the figures of one type end in `_TYPE`."""
        figures = {name: getattr(self.overall, name) for name in _TALLY_FIGURES}
        figures["accuracy"] = self.accuracy
        figures["tokens"] = self.tokens
        for kind, tally in self.types.items():
            figures |= {f"{name}_{kind}": getattr(tally, name) for name in _TALLY_FIGURES}
        return figures


def evaluate(gold: Tags, predicted: Tags) -> Evaluation:
    """Compare predicted tags with gold tags, sentence by sentence; raises `DataError` where their lengths differ."""
    in_gold = Counter[str]()
    found = Counter[str]()
    correct = Counter[str]()
    correct_tokens = 0
    for row, (gold_tags, predicted_tags) in enumerate(zip(gold, predicted, strict=True)):
        if len(gold_tags) != len(predicted_tags):
            lengths = f"{len(gold_tags)} words, but {len(predicted_tags)} tags were predicted for it"
            raise DataError(f"Row {row} has {lengths}.")
        correct_tokens += sum(map(operator.eq, gold_tags, predicted_tags))
        gold_phrases = iob_tags.phrases(gold_tags)
        found_phrases = iob_tags.phrases(predicted_tags)
        in_gold.update(kind for _, _, kind in gold_phrases)
        found.update(kind for _, _, kind in found_phrases)
        correct.update(kind for _, _, kind in gold_phrases & found_phrases)
    types = sorted(in_gold.keys() | found.keys())
    tallies = {kind: Tally(in_gold[kind], found[kind], correct[kind]) for kind in types}
    return Evaluation(sum(map(len, gold)), correct_tokens, tallies)
