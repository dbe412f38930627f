"""Base of the questions about a text or a pair of texts: a row is one sequence, and its outputs are one vector."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchrunner.errors import DataError
from benchrunner.file_faults import shown, some_names
from benchrunner.problems.problem import HeadShape, Problem
from benchrunner.problems.row_checks import checked_texts

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.data.rows import Rows
    from benchrunner.features.arrays import Features
    from benchrunner.recipes import Recipe


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
        import numpy as np

        return np.asarray(np.eye(self.width, dtype=np.float32)[0])

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        import pyarrow as pa

        names, label_column = rows.table.column_names, self.label_columns[0]
        if "a" not in names or (labelled and label_column not in names):
            raise DataError(f"{rows.origin}: columns a, [b,] {label_column} are needed; found {some_names(names)}.")
        columns = {name: pa.array(checked_texts(rows, name), pa.string()) for name in ("a", "b") if name in names}
        if label_column in names:
            values = rows.table.column(label_column).to_pylist()
            if labelled or any(value is not None for value in values):
                columns[label_column] = self.label_array(
                    [self._checked_label(rows, row, value) for row, value in enumerate(values)]
                )
        return pa.table(columns)

    def label_array(self, labels: Sequence[Any]) -> pa.Array:
        """Return the checked labels as a column. Arrow infers its type, unless a subclass states it."""
        import pyarrow as pa

        return pa.array(labels)

    def _checked_label(self, rows: Rows, row: int, value: Any) -> Any:
        try:
            return self.parse_label(value)
        except ValueError as expected:
            raise DataError(f"{rows.where(row)}: {self.label_columns[0]} {shown(value)} is not {expected}.") from None

    def parse(self, text: str) -> Any:
        return self.parse_label(text)

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        from benchrunner.features.arrays import Features

        second = table.column("b").to_pylist() if "b" in table.column_names else None
        sequences = encoder.assemble(table.column("a").to_pylist(), second, min(recipe.max_length, encoder.max_length))
        labels = self.gold(table)
        return Features.of(sequences, targets={} if labels is None else {"label": self.targets(labels)})
