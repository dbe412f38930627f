"""`check_problem` names the fault of every broken problem of a table; all of the core's problems pass."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from changed_methods import changed, raising
from torch.nn.functional import cross_entropy

from benchrunner import Choose, Classify, MultiLabel, PluginError, Recipe, Regress, Rows, Span, Tag
from benchrunner.engine import Encoder, Features, Problem
from benchrunner_kit.testing import check_problem, sentences

LABELS = ("glad", "sad", "calm")
COLUMNS = {"a": sentences(6)["a"], "label": ["glad", "sad", "calm", "sad", "glad", "calm"]}


class Moods(Classify):  # type: ignore[misc]
    """A problem that is whole; each broken one changes a method."""

    def __init__(self) -> None:
        super().__init__(LABELS)


def alternating(usual: Any, outputs: np.ndarray, *given: Any) -> list[str]:
    return [LABELS[(index + row) % 3] for row, index in enumerate(outputs.argmax(axis=1))]


def in_place(usual: Any, outputs: np.ndarray, *given: Any) -> list[Any]:
    outputs -= 1
    return list(usual(outputs, *given))


def encoding(change: Callable[[list[str], pa.Table], list[str]]) -> Any:
    """Make a problem that encodes other texts."""

    def encode(usual: Any, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        targets = usual(table, encoder, recipe, training=training).targets
        return Features.of(encoder.assemble(change(table.column("a").to_pylist(), table), None, 64), targets=targets)

    return changed(Moods, "encode", encode)


def with_neighbours(texts: list[str], table: pa.Table) -> list[str]:
    return [f"{text} {texts[row - 1]}" for row, text in enumerate(texts)]


def with_labels(texts: list[str], table: pa.Table) -> list[str]:
    labels = table["label"].to_pylist() if "label" in table.column_names else [""] * len(texts)
    return [f"{text} {label}" for text, label in zip(texts, labels, strict=True)]


def shuffled(texts: list[str], table: pa.Table) -> list[str]:
    return [" ".join(random.sample(text.split(), len(text.split()))) for text in texts]


def crashing_without_labels(usual: Any, rows: Rows, *, labelled: bool) -> pa.Table:
    if labelled:
        rows.table.column("label")
    return usual(rows, labelled=labelled)


decoded, lost, identified = (partial(changed, Moods, method) for method in ("decode", "loss", "identity"))


BROKEN: dict[str, tuple[type[Problem], str]] = {
    "answers by the place of a row": (decoded(alternating), "row 1 alone is answered by .* whatever the order"),
    "outputs centred over rows": (
        decoded(lambda usual, outputs, *given: usual(outputs - outputs.mean(axis=0), *given)),
        "row 0 alone is answered by '.*', among all rows",
    ),
    "decodes in place": (decoded(in_place), "decode changes the outputs that it is given"),
    "decodes at random": (
        decoded(lambda usual, outputs, *given: [random.choice(LABELS) for _ in outputs]),
        "decode gives other answers in a second call",
    ),
    "answers of numpy": (
        decoded(lambda usual, outputs, *given: list(outputs.argmax(axis=1))),
        "an answer cannot be written as JSON",
    ),
    "an answer too few": (decoded(lambda usual, *given: usual(*given)[:-1]), "decode gives 5 answers for 6 rows"),
    "decode crashes": (decoded(raising(IndexError("no such"))), r"decode outputs ends in IndexError: no such \(.*:\d+"),
    "gathers too few": (
        changed(Moods, "gather", lambda usual, outputs, *given: outputs[1:]),
        "gather gives 5 raw outputs, where output_count says 6",
    ),
    "mean of losses": (
        lost(lambda usual, outputs, batch: usual(outputs, batch) / len(outputs)),
        "the loss of a batch is .* and the losses of its units add up to",
    ),
    "loss with the wrong sign": (
        lost(lambda usual, outputs, batch: outputs.square().sum() * 0.01 - usual(outputs, batch)),
        "outputs that minimise the loss are decoded to wrong",
    ),
    "one loss for each row": (
        lost(lambda usual, outputs, batch: cross_entropy(outputs.float(), batch.targets["label"], reduction="none")),
        "loss must give one number as a tensor in fp32",
    ),
    "loss without a gradient": (lost(lambda usual, *given: usual(*given).detach()), "has a gradient: False"),
    "infinite loss": (lost(lambda usual, *given: usual(*given) / 0), "the loss of sample outputs is inf"),
    "loss that is constant": (
        lost(lambda usual, outputs, batch: outputs.float().sum() * 0 + len(outputs)),
        "gradient steps do not lower the loss",
    ),
    "targets turned round": (
        changed(Moods, "targets", lambda usual, labels: 2 - usual(labels)),
        "outputs that minimise the loss are decoded to wrong answers in 4 of 6 rows",
    ),
    "too few targets": (
        changed(Moods, "targets", lambda usual, labels: usual(labels)[1:]),
        "encode gives 5 targets 'label' for 6 units",
    ),
    "identity with a tuple": (identified(lambda usual: {**usual(), "labels": LABELS}), "identity is different after"),
    "identity that changes": (identified(lambda usual: {"at": random.random()}), "identity differs from call to call"),
    "reads neighbours": (encoding(with_neighbours), "row 0 is encoded alone to other tokens than among all rows"),
    "reads labels": (encoding(with_labels), "encode gives other tokens for the same rows without labels"),
    "encodes at random": (encoding(shuffled), "encode gives other tokens in a second call"),
    "drops a row": (
        changed(Moods, "encode", lambda usual, table, *given, **named: usual(table.slice(1), *given, **named)),
        "encode gives `owner` that does not name",
    ),
    "encode crashes": (changed(Moods, "encode", raising(TypeError("no text"))), r"to encode the rows ends in"),
    "averages the first fit": (
        changed(Moods, "average", lambda usual, outputs: outputs[0]),
        "average gives other answers for the same fits in another order",
    ),
    "majority of another width": (
        changed(Moods, "majority_output", lambda usual, table: np.zeros(7, np.float32)),
        r"majority_output has the shape \(7,\): give that of one raw output, \(3,\)",
    ),
    "too few figures": (
        changed(Moods, "extra_figures", lambda usual, *given: {"odds": [1.0]}),
        "extra_figures gives 1 'odds' for 6 rows",
    ),
    "answers on two lines": (changed(Moods, "spell", lambda usual, answer: f"{answer}\n"), "which is no single line"),
    "reads another answer": (
        changed(Moods, "parse", lambda usual, text: LABELS[LABELS.index(text) - 1]),
        "an answer is different after it was written to a prediction file",
    ),
    "a KeyError for a strange line": (
        changed(Moods, "parse", lambda usual, text: {label: label for label in LABELS}[text]),
        "parse raises KeyError.*: raise a",
    ),
    "no gold": (changed(Moods, "gold", lambda usual, table: None), "gold gives none for 6 labelled rows"),
    "gold for rows without labels": (
        changed(Moods, "gold", lambda usual, table: usual(table) or ["glad"] * len(table)),
        "gold gives labels for rows without",
    ),
    "takes rows without labels": (
        changed(Moods, "check", lambda usual, rows, labelled: usual(rows, labelled="label" in rows.table.column_names)),
        r"check takes rows without labels \(label\) as labelled",
    ),
    "crashes without labels": (changed(Moods, "check", crashing_without_labels), "check raises KeyError.* raise a"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_problem_is_told_how(name: str) -> None:
    kind, fault = BROKEN[name]
    with pytest.raises(PluginError, match=fault) as refusal:
        check_problem(kind(), COLUMNS)  # type: ignore[call-arg]
    assert str(refusal.value).startswith("the problem 'classify' breaks its contract:\n  - ")


WORDS = [text.split() for text in COLUMNS["a"]]
WHOLE: dict[str, tuple[Problem, Mapping[str, Sequence[Any]]]] = {
    "subclass": (Moods(), COLUMNS),
    "classify": (Classify(LABELS), COLUMNS),
    "pairs": (Classify(LABELS), COLUMNS | {"b": COLUMNS["a"][::-1]}),
    "regress": (Regress(0, 5), {"a": COLUMNS["a"], "label": [0.0, 5.0, 2.5, 1.0, 3.0, 4.2]}),
    "multi-label": (
        MultiLabel(("old", "new", "blue")),
        {"a": COLUMNS["a"], "labels": [["old"], [], ["old", "new"], ["blue"], ["new", "blue"], ["new"]]},
    ),
    "choose": (
        Choose(2),
        {"a": COLUMNS["a"], "choices": [["it ended", "it began"]] * 6, "label": [0, 1, 1, 0, 1, 0]},
    ),
    "span": (
        Span(),
        {
            "id": [str(number) for number in range(6)],
            "question": ["Which word comes first?"] * 6,
            "context": COLUMNS["a"],
            "answers": [[words[0]] for words in WORDS],
            "starts": [[0]] * 6,
        },
    ),
    "tag": (
        Tag(("O", "B-X", "I-X")),
        {"words": WORDS, "labels": [["B-X", "I-X", *["O"] * (len(words) - 2)] for words in WORDS]},
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_the_problems_of_the_core_pass(name: str) -> None:
    problem, columns = WHOLE[name]
    check_problem(problem, columns)


def test_a_check_with_too_few_rows_is_refused() -> None:
    with pytest.raises(PluginError, match="check_problem needs 4 rows or more, not 3"):
        check_problem(Moods(), {name: values[:3] for name, values in COLUMNS.items()})
