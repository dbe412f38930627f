"""One number for a text or a pair of texts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner.backbones.export_kind import ExportKind
from benchrunner.problems.sentences import SentenceProblem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import torch

    from benchrunner.features.flat_batch import FlatBatch

_NO_NUMBER = re.compile(r"[^0-9+\-.eE \t]")
"""What no decimal number has. `float` also reads underscores, the digits of other scripts, "nan" and "inf"."""


@final
@dataclass(frozen=True)
class Regress(SentenceProblem):
    """A number: one output, squared error. The answer is the output as it is, even outside the range of the labels."""

    low: float
    """The smallest label; a smaller label is an error in the data."""
    high: float
    """The largest label; a larger label is an error in the data."""
    name: str = "regress"

    def identity(self) -> dict[str, Any]:
        return {"kind": self.name, "range": [self.low, self.high]}

    @property
    def export_kind(self) -> ExportKind:
        return ExportKind("regression", ("score",))

    @property
    def width(self) -> int:
        return 1

    def parse_label(self, value: Any) -> float:
        number = _number(value)
        if not self.low <= number <= self.high:
            raise ValueError(f"a number from {self.low:g} to {self.high:g}")
        return number

    def parse(self, text: str) -> float:
        """Read a predicted number, which may lie outside the range of the labels."""
        number = _number(text)
        if not math.isfinite(number):
            raise ValueError("a finite number")
        return number

    def targets(self, labels: Sequence[Any]) -> np.ndarray:
        """Return the labels as fp32 (rows,)."""
        import numpy as np

        return np.array(labels, dtype=np.float32)

    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        import torch

        return torch.nn.functional.mse_loss(outputs.float().squeeze(-1), batch.targets["label"], reduction="sum")

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        return [float(number) for number in outputs[:, 0]]

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        import numpy as np

        return np.asarray(np.mean(np.stack(outputs), axis=0))

    def majority_output(self, table: pa.Table) -> np.ndarray:
        """Return the mean of the training labels: the constant with the smallest squared error."""
        import numpy as np

        labels = table.column("label").to_pylist()
        return np.array([math.fsum(labels) / len(labels)], dtype=np.float32)


def _number(value: Any) -> float:
    """Read a number. A text holds ASCII digits, without the underscores and foreign digits that `float` accepts."""
    try:
        return math.nan if isinstance(value, str) and _NO_NUMBER.search(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
