"""One of several continuations of a text: a sequence per continuation, and one softmax over those of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner.backbones.export_kind import ExportKind
from benchrunner.data.rows import arrow_array
from benchrunner.errors import DataError, PluginError
from benchrunner.io.file_faults import shown
from benchrunner.problems.probabilities import majority_scores, mean_probability, softmax
from benchrunner.problems.problem import HeadShape, Problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import torch

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.data.rows import Rows
    from benchrunner.features.arrays import Features
    from benchrunner.features.flat_batch import FlatBatch
    from benchrunner.parameters.recipes import Recipe


@final
@dataclass(frozen=True)
class Choose(Problem):
    """One of several texts. The head gives a score per text; a softmax goes over the texts of a row.

    Columns: `a`; `choices`, a list of texts; `label`, the number of the right text from 0, in rows that are labelled.
    """

    choices: int
    """How many texts every row offers."""
    name: str = "choose"
    label_columns = ("label",)

    def __post_init__(self) -> None:
        if self.choices < 2:
            raise PluginError(f"Choose needs two or more choices, not {self.choices}.")

    def identity(self) -> dict[str, Any]:
        return {"kind": self.name, "choices": self.choices}

    @property
    def export_kind(self) -> ExportKind:
        return ExportKind("multiple_choice")

    @property
    def head(self) -> HeadShape:
        """One number per sequence: the product of a learned vector with the sequence's summary."""
        return HeadShape("sequence", 1)

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        import pyarrow as pa

        rows.require(("a", "choices", "label") if labelled else ("a", "choices"))
        columns = {
            "a": arrow_array(rows.texts("a"), pa.string()),
            "choices": arrow_array(self._choices(rows), pa.list_(pa.string())),
        }
        labels = rows.labels("label", lambda label: self.parse(str(label)), required=labelled)
        if labels is not None:
            columns["label"] = arrow_array(labels)
        return pa.table(columns)

    def _choices(self, rows: Rows) -> list[list[str]]:
        choices: list[list[str]] = rows.table.column("choices").to_pylist()
        for row, value in enumerate(choices):
            texts = value if isinstance(value, list) else []
            if len(texts) != self.choices or not all(isinstance(text, str) for text in texts):
                raise DataError(
                    f"{rows.where(row)}: column 'choices' must hold {self.choices} texts, found {shown(value)}."
                )
        return choices

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        import numpy as np

        from benchrunner.features.arrays import Features

        first = [text for text in table.column("a").to_pylist() for _ in range(self.choices)]
        second = [text for choices in table.column("choices").to_pylist() for text in choices]
        sequences = encoder.assemble(first, second, min(recipe.max_length, encoder.max_length))
        labels = self.gold(table)
        return Features.of(
            sequences,
            groups=np.arange(table.num_rows + 1, dtype=np.int64) * self.choices,
            owner=np.repeat(np.arange(table.num_rows, dtype=np.int64), self.choices),
            targets={} if labels is None else {"label": np.array(labels, dtype=np.int64)},
        )

    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        import torch

        scores = outputs.float().view(-1, self.choices)
        return torch.nn.functional.cross_entropy(scores, batch.targets["label"], reduction="sum")

    def gather(self, outputs: np.ndarray, features: Features, table: pa.Table) -> np.ndarray:
        """Return the scores of each row's texts, (rows, choices)."""
        return outputs.reshape(-1, self.choices)

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        return [int(number) for number in outputs.argmax(axis=-1)]

    def extra_figures(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return `probabilities`: for each row a list with one probability per text, in the order of the texts."""
        return {"probabilities": softmax(outputs).tolist()}

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        return mean_probability(outputs)

    def parse(self, text: str) -> int:
        if text not in map(str, range(self.choices)):
            raise ValueError(
                f"a whole number from 0 to {self.choices - 1} (there are {self.choices} choices, counted from 0)"
            )
        return int(text)

    def strata(self, table: pa.Table) -> list[Any] | None:
        return self.gold(table)

    def majority_output(self, table: pa.Table) -> np.ndarray:
        return majority_scores(range(self.choices), table.column("label").to_pylist())

    def fallback_output(self) -> np.ndarray:
        return majority_scores(range(self.choices), ())
