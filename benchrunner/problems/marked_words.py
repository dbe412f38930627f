"""One label for marked words in a text or a pair of texts: the head reads the states of these words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner.data.rows import arrow_array
from benchrunner.errors import DataError, PluginError
from benchrunner.io.file_faults import quoted
from benchrunner.problems.problem import HeadShape, Problem
from benchrunner.problems.sentences import Classify

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
class ClassifyWords(Problem):
    """One of several labels for words in their context, for example whether two words mean the same (Wang et al. 2019).

    Columns: the texts `a` and, for tasks with pairs, `b`; `marks`, a list with an entry for each marked word or phrase:
    the number of its text (0 for `a`, 1 for `b`), its first character and the character after its last; `label`, in
    rows that are labelled. A linear layer reads the states of the summary token and of each mark's first piece, side
    by side. A text that is too long is cut around its marks.
    """

    labels: tuple[str, ...]
    """The labels, in the order of the outputs."""
    marks: int = 2
    """How many marks every row has."""
    name: str = "classify-words"
    label_columns = ("label",)
    optional_columns = ("b",)

    def __post_init__(self) -> None:
        Classify(self.labels)  # raises an error for labels that cannot be
        if self.marks < 1:
            raise PluginError(f"ClassifyWords needs one mark or more, not {self.marks}.")

    @property
    def _classify(self) -> Classify:
        return Classify(self.labels)

    def identity(self) -> dict[str, Any]:
        return {"kind": self.name, "labels": list(self.labels), "marks": self.marks}

    @property
    def head(self) -> HeadShape:
        """For every token, the share of the outputs that it gives as the summary token, as the first mark and so on.

        The sum of these shares is a linear layer over the states side by side.
        """
        return HeadShape("token", (1 + self.marks) * len(self.labels))

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        import pyarrow as pa

        rows.require(("marks",))
        table = self._classify.check(rows, labelled=labelled)
        texts = [table.column(name).to_pylist() for name in ("a", "b") if name in table.column_names]
        marks = rows.table.column("marks").to_pylist()
        for row, value in enumerate(marks):
            if reason := self._fault(value, [column[row] for column in texts]):
                raise DataError(f"{rows.where(row)}: {reason}.")
        return table.append_column("marks", arrow_array(marks, pa.list_(pa.list_(pa.int64()))))

    def _fault(self, marks: Any, texts: Sequence[str]) -> str:
        """Say what is wrong with the marks of a row, or return an empty text."""
        if not isinstance(marks, list) or len(marks) != self.marks:
            return f"column 'marks' must have {self.marks} marks, found {quoted(marks)}"
        for mark in marks:
            if not isinstance(mark, list) or len(mark) != 3 or not all(type(number) is int for number in mark):
                return f"a mark is a list of its text's number, its first character and its end, not {quoted(mark)}"
            text, first, end = mark
            if not 0 <= text < len(texts):
                return f"the mark {mark} is in text {text}; there are {len(texts)}, counted from 0"
            if not 0 <= first < end <= len(texts[text]) or not texts[text][first:end].strip():
                return f"the mark {mark} marks no word of its text, which has {len(texts[text])} characters"
        return ""

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        """Encode each row as one sequence. The target `places` has the summary token and the marks, in the sequence.

        The guide `places` has the same tokens, counted over all sequences.
        """
        from benchrunner.features.arrays import Features
        from benchrunner.problems.marked_sequences import marked_sequences

        sequences, places = marked_sequences(table, encoder, recipe)
        labels = self.gold(table)
        targets = {}
        if labels is not None:
            in_sequence = places - sequences.starts[:-1, None]
            targets = {"places": in_sequence, "label": self._classify.targets(labels)}
        return Features.of(sequences, targets=targets, guides={"places": places})

    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        import torch

        first = batch.starts[:-1].long().index_select(0, batch.restore)
        read = outputs.float()[first[:, None] + batch.targets["places"]]  # (rows, places, width)
        scores: Any = self._sum(read)
        return torch.nn.functional.cross_entropy(scores, batch.targets["label"], reduction="sum")

    def _sum(self, read: Any) -> Any:
        """Add up the shares of the outputs (rows, places, width) that belong to their places: (rows, labels)."""
        width = len(self.labels)
        return sum(read[:, place, place * width : (place + 1) * width] for place in range(1 + self.marks))

    def gather(self, outputs: np.ndarray, features: Features, table: pa.Table) -> np.ndarray:
        """Return the scores of each row's labels, (rows, labels)."""
        import numpy as np

        return np.asarray(self._sum(outputs[np.asarray(features.guides["places"])]))

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        return self._classify.decode(outputs, table, settings)

    def extra_figures(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return `probabilities`: for each row a list with one probability per label, in the order of the labels."""
        return self._classify.extra_figures(outputs, table, settings)

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        return self._classify.average(outputs)

    def parse(self, text: str) -> str:
        return self._classify.parse_label(text)

    def strata(self, table: pa.Table) -> list[Any] | None:
        return self.gold(table)

    def majority_output(self, table: pa.Table) -> np.ndarray:
        return self._classify.majority_output(table)

    def fallback_output(self) -> np.ndarray:
        return self._classify.fallback_output()
