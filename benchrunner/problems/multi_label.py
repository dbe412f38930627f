"""Any number of labels for a text or a pair of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner.backbones.export_kind import ExportKind
from benchrunner.data.rows import arrow_array
from benchrunner.errors import PluginError
from benchrunner.metrics import ANSWERS, Metric, scores
from benchrunner.problems.probabilities import logit, mean_sigmoid, sigmoid
from benchrunner.problems.sentences import SentenceProblem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import torch

    from benchrunner.features.flat_batch import FlatBatch

THRESHOLDS = tuple(percent / 100 for percent in range(1, 100))
"""The thresholds among which `MultiLabel.tune` chooses."""


@final
@dataclass(frozen=True)
class MultiLabel(SentenceProblem):
    """Several labels or none: a sigmoid and binary cross-entropy per label, averaged over the labels.

    Columns: `a`, `b` for tasks with pairs, and `labels`, in rows that are labelled. `labels` holds lists of labels, or
    texts in which a separator stands between the labels; an empty list or text means no label. An answer is the list
    of the labels whose probability is above the threshold, in the order of the problem's labels.
    """

    labels: tuple[str, ...]
    """The labels, in the order of the head's outputs."""
    labels_separator: str = ","
    """Stands between the labels of a row in data files and prediction files. Spaces around labels are ignored."""
    threshold: float = 0.5
    """The probability above which a label is part of the answer, unless a threshold is tuned."""
    tune_threshold: bool = True
    """True: one threshold for all labels is chosen on dev for the headline metric. False: `threshold` is used."""
    name: str = "multi-label"
    label_columns = ("labels",)

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels) or not self.labels:
            raise PluginError(f"MultiLabel needs one or more different labels, not {self.labels}.")
        if not self.labels_separator or not self.labels_separator.isprintable():
            raise PluginError(f"labels_separator must be printable text, not {self.labels_separator!r}.")
        for label in self.labels:
            if self._split(label) != [label] or not label.isprintable():
                raise PluginError(
                    f"The label {label!r} cannot be written to files: labels must be printable, without spaces around "
                    f"them, and without the separator {self.labels_separator!r}."
                )
        if not 0 < self.threshold < 1:
            raise PluginError(f"The threshold must be between 0 and 1, not {self.threshold}.")

    def identity(self) -> dict[str, Any]:
        return {"kind": self.name, "labels": list(self.labels)}

    @property
    def export_kind(self) -> ExportKind:
        return ExportKind("multi_label_classification", self.labels)

    @property
    def tunes(self) -> bool:
        return self.tune_threshold

    @property
    def decoding(self) -> Mapping[str, Any]:
        return {"threshold": self.threshold}

    @property
    def width(self) -> int:
        return len(self.labels)

    def _split(self, text: str) -> list[str]:
        """Return the labels in a text."""
        if self.labels_separator.isspace():
            return text.split()
        return [part.strip() for part in text.split(self.labels_separator)] if text.strip() else []

    def parse_label(self, value: Any) -> list[str]:
        parts = self._split(value) if isinstance(value, str) else value
        known = isinstance(parts, list) and all(label in self.labels for label in parts)
        if not known or len(set(parts)) != len(parts):
            raise ValueError(
                f"a list of different labels, or labels with '{self.labels_separator}' between them, out of "
                f"{', '.join(self.labels)}"
            )
        return [label for label in self.labels if label in parts]

    def label_array(self, labels: Sequence[Any]) -> pa.Array:
        import pyarrow as pa

        return arrow_array(labels, pa.list_(pa.string()))

    def targets(self, labels: Sequence[Any]) -> np.ndarray:
        """Return 1 for each label of a row and 0 for the others, fp32 (rows, labels)."""
        import numpy as np

        targets = np.zeros((len(labels), len(self.labels)), dtype=np.float32)
        for row, row_labels in enumerate(labels):
            targets[row] = [label in row_labels for label in self.labels]
        return targets

    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        import torch

        entropy = torch.nn.functional.binary_cross_entropy_with_logits
        return entropy(outputs.float(), batch.targets["label"], reduction="sum") / len(self.labels)

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        return self._above(sigmoid(outputs), settings.get("threshold", self.threshold))

    def _above(self, probabilities: np.ndarray, threshold: float) -> list[Any]:
        import numpy as np

        labels = np.array(self.labels, dtype=object)
        return [labels[is_above].tolist() for is_above in probabilities > threshold]

    def tune(self, outputs: np.ndarray, table: pa.Table, metric: Metric) -> Mapping[str, Any]:
        """Choose the threshold out of `THRESHOLDS` with the best score; among equal scores, the nearest to `threshold`.

        Settings are empty if the rows have no labels or the metric has no value at any threshold.
        """
        gold = self.gold(table)
        if not self.tunes or gold is None:
            return {}
        probabilities = sigmoid(outputs)
        values = dict[float, float]()
        for threshold in (self.threshold, *THRESHOLDS):
            answers = self._above(probabilities, threshold)
            value = scores([metric], gold, {ANSWERS: answers}, table)[metric.name].value
            if value is not None:
                values[threshold] = value
        if not values:
            return {}
        return {"threshold": max(values, key=lambda threshold: (values[threshold], -abs(threshold - self.threshold)))}

    def extra_figures(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return `probabilities`: for each row a list with one probability per label, in the order of the labels."""
        return {"probabilities": sigmoid(outputs).tolist()}

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        return mean_sigmoid(outputs)

    def spell(self, answer: Any) -> str:
        separator = self.labels_separator
        return (separator if separator.isspace() else f"{separator} ").join(answer)

    def majority_output(self, table: pa.Table) -> np.ndarray:
        """Return each label's share of the training rows, as a logit: what the loss would learn without the texts."""
        return logit(self.targets(self.gold(table) or []).mean(axis=0))
