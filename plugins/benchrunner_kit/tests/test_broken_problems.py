"""`check_problem` names the fault of every broken problem of a table; all of the core's problems pass."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from changed_methods import changed, raising
from torch import nn

from benchrunner import Classify, PluginError, Recipe, Regress, Rows
from benchrunner.engine import Encoder, Features, FlatBatch, Problem
from benchrunner_kinds import Choose, MultiLabel, Span, Tag
from benchrunner_kit.testing import check_problem, sentences

LABELS = ("glad", "sad", "calm")
COLUMNS = {"a": sentences(6)["a"], "label": ["glad", "sad", "calm", "sad", "glad", "calm"]}


class Moods(Classify):  # type: ignore[misc]
    """A problem that is whole; each broken one changes a method."""

    def __init__(self) -> None:
        super().__init__(LABELS)


@dataclass(frozen=True)
class Forgetful(Classify):  # type: ignore[misc]
    """A problem with a field that its `identity` forgets."""

    labels: tuple[str, ...] = LABELS
    weight: float = 1.0

    def identity(self) -> dict[str, Any]:
        return {"kind": self.name, "labels": list(self.labels)}


def alternating(usual: Any, outputs: np.ndarray, *given: Any) -> list[str]:
    return [LABELS[(index + row) % 3] for row, index in enumerate(outputs.argmax(axis=1))]


def from_labels(usual: Any, outputs: np.ndarray, table: pa.Table, *given: Any) -> list[Any]:
    has_labels = "label" in table.column_names
    return list(table["label"].to_pylist() if has_labels else usual(outputs, table, *given))


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


def of_rows(usual: Any, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(outputs.float(), batch.targets["label"], reduction="none")


def without_the_first(usual: Any, table: pa.Table, *given: Any, **named: Any) -> Features:
    return usual(table.slice(1), *given, **named)


def taking_all(usual: Any, rows: Rows, *, labelled: bool) -> pa.Table:
    return usual(rows, labelled=labelled and "label" in rows.table.column_names)


made = partial(changed, Moods)
decoded, lost, identified = partial(made, "decode"), partial(made, "loss"), partial(made, "identity")


BROKEN: dict[str, tuple[type[Problem], str]] = {
    "answers by the place of a row": (decoded(alternating), "row 1 alone is answered by .* whatever the order"),
    "outputs centred over rows": (decoded(lambda usual, raw, *more: usual(raw - raw.mean(0), *more)), "row 0 alone is"),
    "decodes in place": (decoded(in_place), "decode changes the outputs that it is given"),
    "decodes at random": (decoded(lambda usual, raw, *more: random.choices(LABELS, k=len(raw))), "in a second call"),
    "answers of labels": (
        decoded(from_labels),
        "decode gives other answers for rows without the label columns .label.",
    ),
    "decode needs labels": (
        decoded(lambda usual, raw, table, *more: table["label"].to_pylist()),
        r"decode for rows without the label columns \(label\) failed: KeyError",
    ),
    "answers of numpy": (decoded(lambda usual, raw, *more: list(raw.argmax(axis=1))), "cannot be written as JSON"),
    "an answer too few": (decoded(lambda usual, *given: usual(*given)[:-1]), "decode gives 5 for 6 rows"),
    "decode crashes": (
        decoded(raising(IndexError("no such"))),
        r"decoding outputs failed: IndexError: no such \(.*:\d+",
    ),
    "gathers too few": (made("gather", lambda usual, raw, *more: raw[1:]), "gather gives 5 for 6 raw outputs"),
    "counts six outputs of any rows": (made("output_count", lambda usual, table: 6), "6 for all rows, and 36 row by"),
    "mean of losses": (lost(lambda usual, raw, batch: usual(raw, batch) / len(raw)), "the loss of a batch is .* add"),
    "loss of the wrong sign": (
        lost(lambda usual, raw, batch: raw.square().sum() * 0.01 - usual(raw, batch)),
        "minimise",
    ),
    "one loss for each row": (lost(of_rows), "loss must give one number as a tensor in fp32"),
    "loss without a gradient": (lost(lambda usual, *given: usual(*given).detach()), "has a gradient: False"),
    "infinite loss": (lost(lambda usual, *given: usual(*given) / 0), "the loss of sample outputs is inf"),
    "constant loss": (lost(lambda usual, raw, batch: raw.float().sum() * 0 + len(raw)), "steps do not lower the loss"),
    "targets turned round": (made("targets", lambda usual, labels: 2 - usual(labels)), "wrong answers in 4 of 6 rows"),
    "too few targets": (
        made("targets", lambda usual, labels: usual(labels)[1:]),
        "target 'label' of encode gives 5 for 6 units",
    ),
    "identity with a tuple": (identified(lambda usual: {**usual(), "labels": LABELS}), "identity is different after"),
    "identity that changes": (identified(lambda usual: {"at": random.random()}), "identity differs from call to call"),
    "identity that forgets a field": (Forgetful, "the field 'weight' makes no difference to the identity"),
    "reads neighbours": (encoding(with_neighbours), "row 0 is encoded alone to other tokens than among all rows"),
    "reads labels": (encoding(with_labels), "encode gives other tokens for rows without the label"),
    "encodes at random": (encoding(shuffled), "encode gives other tokens in a second call"),
    "drops a row": (made("encode", without_the_first), "encode gives `owner` that does not name every row"),
    "encode crashes": (made("encode", raising(TypeError("no text"))), "encoding the rows failed: TypeError: no text"),
    "averages the first fit": (made("average", lambda usual, fits: fits[0]), "the same fits in another order"),
    "majority of another width": (made("majority_output", lambda *given: np.zeros(7)), r"has the shape \(7,\): give"),
    "too few figures": (
        made("extra_figures", lambda *given: {"odds": [1.0]}),
        "the extra figure 'odds' gives 1 for 6 rows",
    ),
    "answers on two lines": (made("spell", lambda usual, answer: f"{answer}\n"), "which is no single line"),
    "reads another answer": (made("parse", lambda usual, text: LABELS[LABELS.index(text) - 1]), "to a prediction file"),
    "a KeyError for a strange line": (
        made("parse", lambda usual, text: dict(zip(LABELS, LABELS, strict=True))[text]),
        "must raise a ValueError, failed: KeyError",
    ),
    "no gold": (made("gold", lambda usual, table: None), "gold gives 0 for 6 labelled rows"),
    "gold without labels": (made("gold", lambda usual, table: usual(table) or ["glad"] * 6), "for rows without labels"),
    "takes rows without labels": (made("check", taking_all), "check takes rows without labels as labelled"),
    "crashes without labels": (made("check", crashing_without_labels), "must raise a DataError, failed: KeyError"),
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
    "choose": (Choose(2), {"a": COLUMNS["a"], "choices": [["it ended", "it began"]] * 6, "label": [0, 1, 1, 0, 1, 0]}),
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


class Ascending(nn.Module):
    """Two numbers, of which the second is never the smaller one."""

    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        return torch.cat([scores, scores + 1], dim=1)


@dataclass(frozen=True)
class Likely(Classify):  # type: ignore[misc]
    """A problem whose loss has a value only for what its own layers give."""

    width = 1

    def own_layers(self, seed: int) -> nn.Module:
        return Ascending()

    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        low, high = outputs.unbind(1)
        of_second = (high.sigmoid() - low.sigmoid()).log()  # nan unless low < high
        return -torch.where(batch.targets["label"] == 1, of_second, low.sigmoid().log()).sum()

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Any) -> list[str]:
        return [self.labels[int(low < 0)] for low in outputs[:, 0]]

    def extra_figures(self, outputs: np.ndarray, table: pa.Table, settings: Any) -> dict[str, Any]:
        return {}

    def majority_output(self, table: pa.Table) -> np.ndarray:
        return np.array([0.0, 1.0], dtype=np.float32)

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(np.mean(outputs, axis=0))

    def fallback_output(self) -> np.ndarray:
        return np.array([0.0, 1.0], dtype=np.float32)


def test_a_loss_gets_what_own_layers_give() -> None:
    check_problem(Likely(("glad", "sad")), {**COLUMNS, "label": ["glad", "sad"] * 3})


def test_a_check_with_too_few_rows_is_refused() -> None:
    with pytest.raises(PluginError, match="check_problem needs 4 rows or more, not 3"):
        check_problem(Moods(), {name: values[:3] for name, values in COLUMNS.items()})
