"""Base of the questions about a text or a pair of texts: a row is one sequence, and its outputs are one vector."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchrunner.data.arrow_arrays import arrow_array
from benchrunner.errors import DataError
from benchrunner.io.file_faults import shown, some_names
from benchrunner.problems.problem import HeadShape, Problem
from benchrunner.problems.row_checks import checked_texts

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.data.rows import Rows
    from benchrunner.features.arrays import Features
    from benchrunner.parameters.recipes import Recipe

ENCODED_ROWS = 16_384
"""Number of rows that are encoded at once: Python strings take more memory than the texts in the table."""


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
        columns = {name: arrow_array(checked_texts(rows, name), pa.string()) for name in ("a", "b") if name in names}
        if label_column in names:
            values = rows.table.column(label_column).to_pylist()
            if labelled or any(value is not None for value in values):
                columns[label_column] = self.label_array(
                    [self._checked_label(rows, row, value) for row, value in enumerate(values)]
                )
        return pa.table(columns)

    def label_array(self, labels: Sequence[Any]) -> pa.Array:
        """Return the checked labels as a column. Arrow infers its type, unless a subclass states it."""

        return arrow_array(labels)

    def _checked_label(self, rows: Rows, row: int, value: Any) -> Any:
        try:
            return self.parse_label(value)
        except ValueError as expected:
            raise DataError(f"{rows.where(row)}: {self.label_columns[0]} {shown(value)} is not {expected}.") from None

    def parse(self, text: str) -> Any:
        return self.parse_label(text)

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        from benchrunner.features.arrays import Features, Sequences

        length, parts = min(recipe.max_length, encoder.max_length), list[Sequences]()
        for start in range(0, max(1, table.num_rows), ENCODED_ROWS):
            rows = table.slice(start, ENCODED_ROWS)
            second = rows.column("b").to_pylist() if "b" in rows.column_names else None
            parts.append(encoder.assemble(rows.column("a").to_pylist(), second, length))
        labels = self.gold(table)
        return Features.of(Sequences.joined(parts), targets={} if labels is None else {"label": self.targets(labels)})
