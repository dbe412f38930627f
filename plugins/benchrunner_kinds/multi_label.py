"""Any number of labels for a text or a pair of texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner import Metric, PluginError, SentenceProblem, arrow_array
from benchrunner.engine import ExportKind, probabilities, problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from torch import Tensor

    from benchrunner.engine import FlatBatch

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
    decoding_fields = ("labels_separator", "threshold", "tune_threshold")

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

    @property
    def export_kind(self) -> ExportKind:
        return ExportKind("multi_label_classification", self.labels)

    @property
    def tunes(self) -> bool:
        return self.tune_threshold

    @property
    def decoding(self) -> problem.Settings:
        return {"threshold": self.threshold}

    @property
    def width(self) -> int:
        return len(self.labels)

    def _split(self, text: str) -> list[str]:
        """Return the labels in a text."""
        if self.labels_separator.isspace():
            return text.split()
        if not text.strip():
            return []
        return [part.strip() for part in text.split(self.labels_separator)]

    def parse_label(self, value: Any) -> list[str]:
        parts = self._split(value) if isinstance(value, str) else value
        is_known = isinstance(parts, list) and all(label in self.labels for label in parts)
        if not is_known or len(set(parts)) != len(parts):
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

    def loss(self, outputs: Tensor, batch: FlatBatch) -> Tensor:
        from torch.nn import functional

        target = batch.targets["label"]
        loss = functional.binary_cross_entropy_with_logits(outputs.float(), target, reduction="sum")
        return loss / len(self.labels)

    def decode(
        self,
        outputs: np.ndarray,
        table: pa.Table,
        settings: problem.Settings,
    ) -> list[Any]:
        threshold = settings.get("threshold", self.threshold)
        return self._above(probabilities.sigmoid(outputs), threshold)

    def _above(self, probabilities: np.ndarray, threshold: float) -> list[Any]:
        import numpy as np

        labels = np.array(self.labels, dtype=object)
        return [labels[is_above].tolist() for is_above in probabilities > threshold]

    def tune(self, outputs: np.ndarray, table: pa.Table, metric: Metric) -> problem.Settings:
        """Choose the threshold out of `THRESHOLDS` with the best score; among equal scores, the nearest to `threshold`.

        Settings are empty if the rows have no labels or the metric has no value at any threshold.
        """
        gold = self.gold(table)
        if not self.tunes or gold is None or metric.computed_from != Metric.computed_from:
            return {}
        of_labels = probabilities.sigmoid(outputs)
        best_rank = (-math.inf, 0.0)
        chosen = {}
        for threshold in (self.threshold, *THRESHOLDS):
            answers = self._above(of_labels, threshold)
            score = metric.score(gold, answers, table)
            if score.value is None:
                continue
            rank = (metric.gain(score.value), -abs(threshold - self.threshold))
            if rank > best_rank:
                best_rank = rank
                chosen = {"threshold": threshold}
        return chosen

    def extra_figures(
        self,
        outputs: np.ndarray,
        table: pa.Table,
        settings: problem.Settings,
    ) -> problem.Figures:
        """Return `probabilities`: for each row a list with one probability per label, in the order of the labels."""
        return {"probabilities": probabilities.sigmoid(outputs).tolist()}

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        return probabilities.mean_sigmoid(outputs)

    def spell(self, answer: Any) -> str:
        separator = self.labels_separator
        if not separator.isspace():
            separator += " "
        return separator.join(answer)

    def majority_output(self, table: pa.Table) -> np.ndarray:
        """Return each label's share of the training rows, as a logit: what the loss would learn without the texts."""
        targets = self.targets(self.gold(table) or [])
        return probabilities.logit(targets.mean(axis=0))
