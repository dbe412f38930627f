"""What classify and regress share: a row is one text or a pair, one sequence, one unit, one summary."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchrunner.errors import DataError
from benchrunner.problems.problem import HeadShape, Problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.data.rows import Rows
    from benchrunner.features.arrays import Features
    from benchrunner.recipes import Recipe


class SentenceProblem(Problem):
    """Columns: `a`, `b` where the task has pairs, `label` where the rows are labelled."""

    label_columns: tuple[str, ...] = ("label",)

    @property
    @abstractmethod
    def width(self) -> int:
        """Outputs of one row."""

    @abstractmethod
    def _label(self, value: Any) -> Any:
        """A label as the column keeps it, or `ValueError` with what was expected."""

    @abstractmethod
    def _targets(self, labels: Sequence[Any]) -> np.ndarray:
        """Labels as the numbers that the loss reads."""

    @property
    def head(self) -> HeadShape:
        return HeadShape("sequence", self.width)

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        import pyarrow as pa

        names = rows.table.column_names
        if "a" not in names or (labelled and "label" not in names):
            raise DataError(f"{rows.origin}: columns a, [b,] label are needed; found {', '.join(names)}.")
        columns = {name: self._texts(rows, name) for name in ("a", "b") if name in names}
        if "label" in names:
            values = rows.table.column("label").to_pylist()
            if labelled or any(value is not None for value in values):
                columns["label"] = pa.array([self._checked_label(rows, at, one) for at, one in enumerate(values)])
        return pa.table(columns)

    def _texts(self, rows: Rows, name: str) -> pa.Array:
        import pyarrow as pa

        values = rows.table.column(name).to_pylist()
        for at, value in enumerate(values):
            if not isinstance(value, str):
                raise DataError(f"{rows.where(at)}: column '{name}' must be text, found {value!r}.")
        return pa.array(values, pa.string())

    def _checked_label(self, rows: Rows, at: int, value: Any) -> Any:
        try:
            return self._label(value)
        except ValueError as expected:
            raise DataError(f"{rows.where(at)}: label {value!r} is not {expected}.") from None

    def parse(self, text: str) -> Any:
        return self._label(text)

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        from benchrunner.features.arrays import Features

        second = table.column("b").to_pylist() if "b" in table.column_names else None
        sequences = encoder.assemble(table.column("a").to_pylist(), second, min(recipe.max_length, encoder.max_length))
        labels = self.gold(table)
        return Features.of(sequences, targets={} if labels is None else {"label": self._targets(labels)})
