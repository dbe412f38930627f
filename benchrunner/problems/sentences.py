"""Questions about a text or a pair of texts: a row is one sequence; the answer is a label, or a number."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner.backbones.export_kind import ExportKind
from benchrunner.data.rows import ROWS_AT_ONCE, arrow_array
from benchrunner.errors import DataError, PluginError
from benchrunner.io.messages import some_names
from benchrunner.problems.probabilities import label_numbers, majority_scores
from benchrunner.problems.problem import LABEL_FIELDS, HeadShape, OneOf, Problem, Settings

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from torch import Tensor

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.data.rows import Rows
    from benchrunner.features.arrays import Features
    from benchrunner.features.flat_batch import FlatBatch
    from benchrunner.parameters.recipes import Recipe

_NO_NUMBER = re.compile(r"[^0-9+\-.eE \t]")
"""What no decimal number has. `float` also reads underscores, the digits of other scripts, "nan" and "inf"."""


class SentenceProblem(Problem):
    """A question about a text or a pair of texts. A subclass says what a label is, and what the loss and answers are.

    Columns: the texts `a` and, for tasks with pairs, `b`; the label column, in rows that are labelled.
    """

    label_columns: tuple[str, ...] = ("label",)
    optional_columns: tuple[str, ...] = ("b",)

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers the head gives for a row."""

    @abstractmethod
    def parse_label(self, value: Any) -> Any:
        """Return a label as the label column keeps it, or raise `ValueError` with what was expected."""

    @abstractmethod
    def targets(self, labels: Sequence[Any]) -> np.ndarray:
        """Return the labels of all rows as the numbers that the loss reads as `batch.targets["label"]`."""

    @property
    def head(self) -> HeadShape:
        return HeadShape("sequence", self.width)

    def fallback_output(self) -> np.ndarray:
        return majority_scores(range(self.width), [])

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        import pyarrow as pa

        names = rows.table.column_names
        label_column = self.label_columns[0]
        if "a" not in names or (labelled and label_column not in names):
            raise DataError(f"{rows.origin}: columns a, [b,] {label_column} are needed; found {some_names(names)}.")
        columns = {}
        for name in ("a", "b"):
            if name in names:
                columns[name] = rows.text_column(name)
        labels = rows.labels(label_column, self.parse_label, required=labelled)
        if labels is not None:
            columns[label_column] = self.label_array(labels)
        return pa.table(columns)

    def label_array(self, labels: Sequence[Any]) -> pa.Array:
        """Return the checked labels as a column. Arrow infers its type, unless a subclass states it."""
        return arrow_array(labels)

    def parse(self, text: str) -> Any:
        return self.parse_label(text)

    def encode(
        self,
        table: pa.Table,
        encoder: Encoder,
        recipe: Recipe,
        *,
        training: bool,
    ) -> Features:
        from benchrunner.features.arrays import Features, Sequences

        length = min(recipe.max_length, encoder.max_length)

        def parts() -> Iterator[Sequences]:
            for start in range(0, max(1, table.num_rows), ROWS_AT_ONCE):
                rows = table.slice(start, ROWS_AT_ONCE)
                first = rows.column("a").to_pylist()
                second = rows.column("b").to_pylist() if "b" in rows.column_names else None
                yield encoder.assemble(first, second, length)

        labels = self.gold(table)
        targets = {} if labels is None else {"label": self.targets(labels)}
        return Features.of(Sequences.joined(parts()), targets=targets)


@dataclass(frozen=True)
class OneLabel(OneOf, SentenceProblem):
    """One of several labels for a row."""

    labels: tuple[str, ...]
    """The labels, in the order of the outputs."""
    batch_fields = LABEL_FIELDS

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels) or len(self.labels) < 2:
            raise PluginError(f"{type(self).__name__} needs two or more different labels, not {self.labels}.")

    @property
    def possible(self) -> tuple[str, ...]:
        return self.labels

    @property
    def width(self) -> int:
        return len(self.labels)

    def parse_label(self, value: Any) -> str:
        if value not in self.labels:
            raise ValueError(f"one of {', '.join(self.labels)}")
        return str(value)

    def targets(self, labels: Sequence[Any]) -> np.ndarray:
        """Return the index of each label, int64 (rows,)."""
        return label_numbers(labels, self.labels)


@final
@dataclass(frozen=True)
class Classify(OneLabel):
    """One of several labels for a text or a pair of texts."""

    name: str = "classify"

    @property
    def export_kind(self) -> ExportKind:
        return ExportKind("single_label_classification", self.labels)

    def loss(self, outputs: Tensor, batch: FlatBatch) -> Tensor:
        return batch.cross_entropy(outputs, batch.targets["label"])


@final
@dataclass(frozen=True)
class Regress(SentenceProblem):
    """A number: one output, squared error. The answer is the output as it is, even outside the range of the labels."""

    low: float
    """The smallest label; a smaller label is an error in the data."""
    high: float
    """The largest label; a larger label is an error in the data."""
    name: str = "regress"

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

    def loss(self, outputs: Tensor, batch: FlatBatch) -> Tensor:
        from torch.nn import functional

        numbers = outputs.float().squeeze(-1)
        return functional.mse_loss(numbers, batch.targets["label"], reduction="sum")

    def decode(
        self,
        outputs: np.ndarray,
        table: pa.Table,
        settings: Settings,
    ) -> list[Any]:
        shortest = outputs[:, 0].astype(str)  # 3.7, not 3.700000047683716: equal fp32 numbers, and no others, are equal
        numbers: list[float] = shortest.astype(float).tolist()
        return numbers

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        import numpy as np

        return np.asarray(np.mean(np.stack(outputs), axis=0))

    def majority_output(self, table: pa.Table) -> np.ndarray:
        """Return the mean of the training labels: the constant with the smallest squared error."""
        import numpy as np

        labels = self.gold(table) or []
        return np.array([math.fsum(labels) / len(labels)], dtype=np.float32)


def _number(value: Any) -> float:
    """Read a number. A text holds ASCII digits, without the underscores and foreign digits that `float` accepts."""
    if isinstance(value, str) and _NO_NUMBER.search(value):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
