"""`check_problem` names the fault of every broken problem of a table; all of the core's problems pass."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from benchrunner import Choose, Classify, MultiLabel, PluginError, Recipe, Regress, Rows, Span, Tag
from benchrunner.engine import Encoder, Features, FlatBatch, Problem
from benchrunner_kit.testing import check_problem, sentences

LABELS = ("glad", "sad", "calm")
COLUMNS = {"a": sentences(6)["a"], "label": ["glad", "sad", "calm", "sad", "glad", "calm"]}


class Moods(Classify):  # type: ignore[misc]
    """A problem that is whole; each broken one changes a method."""

    def __init__(self) -> None:
        super().__init__(LABELS)


class Alternating(Moods):
    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        return [self.labels[(index + row) % 3] for row, index in enumerate(outputs.argmax(axis=1))]


class Centred(Moods):
    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        return super().decode(outputs - outputs.mean(axis=0), table, settings)


class InPlace(Moods):
    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        outputs -= 1
        return super().decode(outputs, table, settings)


class Wandering(Moods):
    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        return [random.choice(self.labels) for _ in outputs]


class Indices(Moods):
    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        return list(outputs.argmax(axis=1))


class Tuples(Moods):
    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        return [(label,) for label in super().decode(outputs, table, settings)]


class Short(Moods):
    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        return super().decode(outputs, table, settings)[:-1]


class CrashingDecode(Moods):
    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        raise IndexError("no such label")


class GathersLess(Moods):
    def gather(self, outputs: np.ndarray, features: Features, table: pa.Table) -> np.ndarray:
        return outputs[1:]


class MeanLoss(Moods):
    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return super().loss(outputs, batch) / len(outputs)


class NegativeLoss(Moods):
    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return outputs.square().sum() * 0.01 - super().loss(outputs, batch)


class LossOfRows(Moods):
    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(outputs.float(), batch.targets["label"], reduction="none")


class HalfLoss(Moods):
    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return super().loss(outputs, batch).bfloat16()


class DetachedLoss(Moods):
    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return super().loss(outputs.detach(), batch)


class InfiniteLoss(Moods):
    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return super().loss(outputs, batch) / 0


class WrongOrder(Moods):
    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return super().loss(outputs[batch.restore], batch)


class ConstantLoss(Moods):
    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return outputs.float().sum() * 0 + len(outputs)


class TurnedTargets(Moods):
    def targets(self, labels: Sequence[Any]) -> np.ndarray:
        return 2 - super().targets(labels)


class FewTargets(Moods):
    def targets(self, labels: Sequence[Any]) -> np.ndarray:
        return super().targets(labels)[1:]


class TupleIdentity(Moods):
    def identity(self) -> dict[str, Any]:
        return {"kind": self.name, "labels": self.labels}


class SetIdentity(Moods):
    def identity(self) -> dict[str, Any]:
        return {"kind": self.name, "labels": set(self.labels)}


class NewIdentity(Moods):
    def identity(self) -> dict[str, Any]:
        return {"kind": self.name, "at": random.random()}


def encoded(texts: Sequence[str], encoder: Encoder, targets: Mapping[str, np.ndarray]) -> Features:
    return Features.of(encoder.assemble(texts, None, 64), targets=targets)


class ReadsNeighbours(Moods):
    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        texts, made = table.column("a").to_pylist(), super().encode(table, encoder, recipe, training=training)
        return encoded([f"{text} {texts[row - 1]}" for row, text in enumerate(texts)], encoder, made.targets)


class ReadsLabels(Moods):
    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        made, labels = super().encode(table, encoder, recipe, training=training), self.gold(table) or [""] * len(table)
        texts = [f"{text} {label}" for text, label in zip(table.column("a").to_pylist(), labels, strict=True)]
        return encoded(texts, encoder, made.targets)


class ShufflesWords(Moods):
    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        made = super().encode(table, encoder, recipe, training=training)
        texts = [" ".join(random.sample(text.split(), len(text.split()))) for text in table.column("a").to_pylist()]
        return encoded(texts, encoder, made.targets)


class DropsARow(Moods):
    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        return super().encode(table.slice(1), encoder, recipe, training=training)


class CrashingEncode(Moods):
    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        raise TypeError("no text")


class FirstFitOnly(Moods):
    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        return outputs[0]


class TurnedAverage(Moods):
    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        return -np.mean(outputs, axis=0)


class WideMajority(Moods):
    def majority_output(self, table: pa.Table) -> np.ndarray:
        return np.zeros(7, np.float32)


class FewFigures(Moods):
    def extra_figures(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> dict[str, list[Any]]:
        return {"odds": [1.0]}


class ArrayFigures(Moods):
    def extra_figures(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> dict[str, list[Any]]:
        return {"odds": list(outputs)}


class TwoLines(Moods):
    def spell(self, answer: Any) -> str:
        return f"{answer}\n"


class AnotherText(Moods):
    def parse(self, text: str) -> Any:
        return self.labels[self.labels.index(text) - 1]


class KeyErrors(Moods):
    def parse(self, text: str) -> Any:
        return {label: label for label in self.labels}[text]


class NoGold(Moods):
    def gold(self, table: pa.Table) -> list[Any] | None:
        return None


class InventsGold(Moods):
    def gold(self, table: pa.Table) -> list[Any] | None:
        return super().gold(table) or ["glad"] * len(table)


class NeedsNoLabels(Moods):
    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        return super().check(rows, labelled=labelled and "label" in rows.table.column_names)


class CrashesWithoutLabels(Moods):
    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        if labelled:
            rows.table.column("label")
        return super().check(rows, labelled=labelled)


BROKEN: dict[str, tuple[type[Problem], str]] = {
    "answers by the place of a row": (Alternating, "row 1 alone is answered by .* whatever the order of the rows"),
    "outputs centred over rows": (Centred, "row 0 alone is answered by '.*', among all rows by '.*'"),
    "decodes in place": (InPlace, "decode changes the outputs that it is given"),
    "decodes at random": (Wandering, "decode gives other answers in a second call"),
    "answers of numpy": (Indices, "an answer cannot be written as JSON"),
    "answers as tuples": (Tuples, "an answer is different after it was written as JSON .* not tuples"),
    "an answer too few": (Short, "decode gives 5 answers for 6 rows"),
    "decode crashes": (CrashingDecode, r"to decode outputs ends in IndexError: no such label \(.*:\d+\)"),
    "gathers too few": (GathersLess, "gather gives 5 raw outputs, where output_count says 6"),
    "mean of losses": (MeanLoss, "the loss of a batch is .* and the losses of its units add up to"),
    "loss with the wrong sign": (NegativeLoss, "outputs that minimise the loss are decoded to wrong answers in"),
    "one loss for each row": (LossOfRows, "loss must give one number as a tensor in fp32"),
    "loss in half precision": (HalfLoss, "loss must give one number as a tensor in fp32"),
    "loss without a gradient": (DetachedLoss, "has a gradient: False"),
    "infinite loss": (InfiniteLoss, "the loss of sample outputs is inf"),
    "outputs in another order": (WrongOrder, "the loss of a batch is"),
    "loss that is constant": (ConstantLoss, "gradient steps do not lower the loss"),
    "targets turned round": (
        TurnedTargets,
        "outputs that minimise the loss are decoded to wrong answers in 4 of 6 rows",
    ),
    "too few targets": (FewTargets, "encode gives 5 targets 'label' for 6 units"),
    "identity with a tuple": (TupleIdentity, "identity is different after it was written as JSON"),
    "identity with a set": (SetIdentity, "identity cannot be written as JSON"),
    "identity that changes": (NewIdentity, "identity differs from call to call"),
    "reads neighbours": (ReadsNeighbours, "row 0 is encoded alone to other tokens than among all rows"),
    "reads labels": (ReadsLabels, "encode gives other tokens for the same rows without labels"),
    "encodes at random": (ShufflesWords, "encode gives other tokens in a second call"),
    "drops a row": (DropsARow, "encode gives `owner` that does not name every row"),
    "encode crashes": (CrashingEncode, r"to encode the rows ends in TypeError: no text \(.*:\d+\)"),
    "averages the first fit": (FirstFitOnly, "average gives other answers for the same fits in another order"),
    "average turns answers": (TurnedAverage, "the average of two equal outputs gives different answers"),
    "majority of another width": (
        WideMajority,
        r"majority_output has the shape \(7,\): give that of one raw output, \(3,\)",
    ),
    "too few figures": (FewFigures, "extra_figures gives 1 'odds' for 6 rows"),
    "figures of numpy": (ArrayFigures, "the extra figure 'odds' cannot be written as JSON"),
    "answers on two lines": (TwoLines, r"spell writes '.*\\n', which is no single line"),
    "reads another answer": (AnotherText, "an answer is different after it was written to a prediction file"),
    "a KeyError for a strange line": (KeyErrors, "parse raises KeyError.*: raise a ValueError"),
    "no gold": (NoGold, "gold gives none for 6 labelled rows"),
    "gold for rows without labels": (InventsGold, "gold gives labels for rows without labels"),
    "takes rows without labels": (NeedsNoLabels, r"check takes rows without labels \(label\) as labelled"),
    "crashes without labels": (CrashesWithoutLabels, "check raises KeyError.* raise a DataError"),
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
