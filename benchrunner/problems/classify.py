"""One label for a text or a pair of texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner.backbones.export_kind import ExportKind
from benchrunner.errors import PluginError
from benchrunner.problems.probabilities import mean_probability, softmax
from benchrunner.problems.sentences import SentenceProblem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import torch

    from benchrunner.features.flat_batch import FlatBatch


@final
@dataclass(frozen=True)
class Classify(SentenceProblem):
    """One of several labels: softmax over the labels; the answer is the label with the highest probability."""

    labels: tuple[str, ...]
    """The labels, in the order of the head's outputs."""
    name: str = "classify"

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels) or len(self.labels) < 2:
            raise PluginError(f"Classify needs two or more different labels, not {self.labels}.")

    def identity(self) -> dict[str, Any]:
        return {"kind": self.name, "labels": list(self.labels)}

    @property
    def export_kind(self) -> ExportKind:
        return ExportKind("single_label_classification", self.labels)

    @property
    def width(self) -> int:
        return len(self.labels)

    def parse_label(self, value: Any) -> str:
        if value not in self.labels:
            raise ValueError(f"one of {', '.join(self.labels)}")
        return str(value)

    def targets(self, labels: Sequence[Any]) -> np.ndarray:
        """Return the index of each label, int64 (rows,)."""
        import numpy as np

        index_of = {label: index for index, label in enumerate(self.labels)}
        return np.array([index_of[label] for label in labels], dtype=np.int64)

    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        import torch

        return torch.nn.functional.cross_entropy(outputs.float(), batch.targets["label"], reduction="sum")

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        return [self.labels[index] for index in outputs.argmax(axis=-1)]

    def extra_figures(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return `probabilities`: for each row a list with one probability per label, in the order of the labels."""
        return {"probabilities": softmax(outputs).tolist()}

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        return mean_probability(outputs)

    def strata(self, table: pa.Table) -> list[Any] | None:
        return self.gold(table)

    def majority_output(self, table: pa.Table) -> np.ndarray:
        """Choose the most frequent label; among equally frequent labels, the first in the problem's order."""
        import numpy as np

        counts = Counter(table.column("label").to_pylist())
        majority = max(self.labels, key=lambda label: counts[label])
        return np.array([float(label == majority) for label in self.labels], dtype=np.float32)
