"""What conlleval, the script of the CoNLL shared tasks, says of a file or of predictions: its rules and its layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, final

from benchrunner import DataError, Metric, Rows, Score, Scored, Scorer, Undefined, as_iob2, quoted
from benchrunner_conll.columns import Line, blocks, check_width, is_border
from benchrunner_conll.schemes import TAG, phrases

Tags = Sequence[Sequence[str]]
"""One list a sentence."""

_OWN_HEADER = ["index", "prediction"]
_END = "the end of a sentence"
_HEAD = 100
"""Blocks that tell whether a file has columns: enough to meet a word that does not look like a tag."""


@dataclass(frozen=True)
class Tally:
    """How many phrases there are, were predicted, and are the same: their words and their type."""

    gold: int
    found: int
    correct: int

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
    """conlleval's counts. Figures go from 0 to 100; where it divides by nothing it says 0, and so does this."""

    tokens: int
    right: int
    """Tokens whose predicted tag is the gold one to the letter."""
    types: Mapping[str, Tally]
    """Of every type that is in the gold or the predicted tags, in conlleval's order."""

    @property
    def whole(self) -> Tally:
        """All types together."""
        return Tally(*(sum(getattr(one, name) for one in self.types.values()) for name in ("gold", "found", "correct")))

    @property
    def accuracy(self) -> float:
        return 100 * self.right / self.tokens

    def __str__(self) -> str:
        """What the script prints, to the letter."""
        counts = f"{self.whole.gold} phrases; found: {self.whole.found} phrases; correct: {self.whole.correct}."
        return "\n".join(
            [
                f"processed {self.tokens} tokens with {counts}",
                f"accuracy: {self.accuracy:6.2f}%; {self.whole}",
                *(f"{name:>17}: {tally}  {tally.found}" for name, tally in self.types.items()),
                "",
            ]
        )

    @property
    def figures(self) -> dict[str, float]:
        """All of it by name."""
        named = {f"{name}_{kind}": getattr(tally, name) for kind, tally in self.types.items() for name in _OF_TALLY}
        whole = {name: getattr(self.whole, name) for name in _OF_TALLY}
        return {**whole, "accuracy": self.accuracy, "tokens": self.tokens, **named}


_OF_TALLY = ("f1", "precision", "recall", "gold", "found", "correct")


def evaluate(gold: Tags, predicted: Tags) -> Evaluation:
    """Predicted tags against gold ones, sentence by sentence; a `DataError` where their lengths differ."""
    counts: dict[str, Counter[str]] = {"gold": Counter(), "found": Counter(), "correct": Counter()}
    right = 0
    for row, (ours, theirs) in enumerate(zip(gold, predicted, strict=True)):
        if len(ours) != len(theirs):
            raise DataError(f"Row {row} has {len(ours)} words, but {len(theirs)} tags were predicted for it.")
        right += sum(one == other for one, other in zip(ours, theirs, strict=True))
        there, said = phrases(ours), phrases(theirs)
        for name, some in (("gold", there), ("found", said), ("correct", there & said)):
            counts[name].update(kind for _, _, kind in some)
    types = sorted(counts["gold"].keys() | counts["found"].keys())
    tallies = {kind: Tally(*(counts[name][kind] for name in counts)) for kind in types}
    return Evaluation(sum(map(len, gold)), right, tallies)


def metrics(types: Sequence[str]) -> tuple[Metric, ...]:
    """F1 over all types is the headline; F1 by type and seqeval's F1 are details."""

    def metric(name: str, figure: Callable[[Evaluation], float], *, detail: bool = False) -> Metric:
        return Metric(name, lambda gold, predicted: figure(evaluate(gold, predicted)), scale=1.0, detail=detail)

    def f1_of(kind: str) -> Metric:
        def figure(found: Evaluation) -> float:
            if kind not in found.types:
                raise Undefined(f"no phrase of the type {kind} was there or was predicted")
            return found.types[kind].f1

        return metric(f"f1_{kind}", figure, detail=True)

    return (
        metric("f1", lambda found: found.whole.f1),
        metric("precision", lambda found: found.whole.precision),
        metric("recall", lambda found: found.whole.recall),
        metric("accuracy", lambda found: found.accuracy),
        *(f1_of(kind) for kind in types),
        Metric("seqeval_f1", _seqeval, scale=1.0, detail=True),
    )


def _seqeval(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    """F1 as the package seqeval has it by default: what most reports of training show."""
    from seqeval.metrics import f1_score

    return 100 * float(f1_score(gold, predicted, zero_division=0))


@final
@dataclass(frozen=True)
class ConllEval(Scorer):
    """Scores files of `token ... gold predicted`, a blank line between sentences, as conlleval does.

    Lines of -DOCSTART- are tokens to that script, right ones as a rule, and therefore here.
    """

    labels: tuple[str, ...]
    """The tags that may stand in a file."""
    needs_gold = False

    def recognizes(self, path: Path) -> bool:
        try:
            head = [fields for block in islice(blocks(path), _HEAD) for _, fields in block]
        except DataError:  # not text: whoever reads it will say so
            return False
        return head[:1] != [_OWN_HEADER] and any(_looks_tagged(fields) for fields in head)

    def score(self, path: Path, gold: Rows | None, files: Mapping[str, Path]) -> Scored:
        tagged = list(blocks(path))
        self._check(path, tagged)
        if gold is not None:
            _compare(path, [block for block in tagged if not is_border(block)], gold)
        found = evaluate(_column(tagged, -2), _column(tagged, -1))
        return Scored({name: Score(value) for name, value in found.figures.items()}, str(found))

    def _check(self, path: Path, tagged: list[list[Line]]) -> None:
        if not tagged:
            raise DataError(f"{path}:1: the file is empty; lines of 'token ... gold predicted' were expected.")
        first, fields = tagged[0][0]
        if len(fields) < 3:
            raise DataError(f"{path}:{first}: expected 'token ... gold predicted', found {len(fields)} columns.")
        check_width(path, tagged)
        for line, found in chain.from_iterable(tagged):
            for tag in found[-2:]:
                if tag not in self.labels:
                    raise DataError(f"{path}:{line}: found the tag {quoted(tag)}; expected {', '.join(self.labels)}.")


def _looks_tagged(fields: Sequence[str]) -> bool:
    """A word, then two tags at least: not a line of nothing but tags, which is an answer in our own layout."""
    tags = [TAG.fullmatch(one) is not None for one in fields]
    return len(fields) > 2 and all(tags[-2:]) and not tags[0]


def _column(tagged: Sequence[Sequence[Line]], at: int) -> list[list[str]]:
    return [[fields[at] for _, fields in block] for block in tagged]


def _compare(path: Path, sentences: Sequence[Sequence[Line]], gold: Rows) -> None:
    """A `DataError` for the first line whose token or gold tag is not that of the rows."""
    labelled = "labels" in gold.table.column_names
    for ours, theirs in zip_longest(_in_file(sentences, labelled=labelled), _in_rows(gold, labelled=labelled)):
        if ours is None:
            raise DataError(f"{path}: ends where {gold.where(theirs[0])} goes on with {theirs[1]}.")
        if theirs is None:
            raise DataError(f"{path}:{ours[0]}: found {ours[1]}, where {gold.origin} has ended.")
        if ours[1] != theirs[1]:
            raise DataError(f"{path}:{ours[0]}: found {ours[1]}, where {gold.where(theirs[0])} has {theirs[1]}.")


def _in_file(sentences: Sequence[Sequence[Line]], *, labelled: bool) -> Iterator[tuple[int, str]]:
    """Line and content of every word; tags in IOB2, whatever they are written in."""
    for block in sentences:
        tags = as_iob2(fields[-2] for _, fields in block)
        for (line, fields), tag in zip(block, tags, strict=True):
            yield line, f"{fields[0]!r} {tag}" if labelled else repr(fields[0])
        yield block[-1][0], _END


def _in_rows(gold: Rows, *, labelled: bool) -> Iterator[tuple[int, str]]:
    """Row and content of every word."""
    sentences = gold.table.column("words").to_pylist()
    labels = gold.table.column("labels").to_pylist() if labelled else [[]] * len(sentences)
    for row, (words, tags) in enumerate(zip(sentences, labels, strict=True)):
        for word, tag in zip_longest(words, tags):
            yield row, f"{word!r} {tag}" if labelled else repr(word)
        yield row, _END
