"""One of a varying number of candidates for each row: a sequence per candidate, and one softmax over those of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, final

from benchrunner.backbones.export_kind import ExportKind
from benchrunner.data.rows import arrow_array, list_starts
from benchrunner.errors import DataError
from benchrunner.io.file_faults import quoted
from benchrunner.problems.probabilities import log_of_mean
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

MOST_CANDIDATES = 1_000
"""Largest number of candidates of a row: all of them are computed at once, since their softmax needs them together."""


@final
@dataclass(frozen=True)
class Candidates(Problem):
    """One of several texts, of which every row may offer another number; several of them may be right.

    Columns: `a`; `choices`, a list of texts; `label`, in rows that are labelled: the number of the right text from 0,
    or a list of the numbers of all right texts; `names`, a list of texts, if the candidates are called otherwise than
    by the texts in `choices`. An answer is the number of a text. The loss is the negative log of the probability of all
    right texts together.
    """

    name: str = "candidates"
    label_columns = ("label",)

    def identity(self) -> dict[str, Any]:
        return {"kind": self.name}

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
        choices = _lists_of_texts(rows, "choices")
        columns = {
            "a": arrow_array(rows.texts("a"), pa.string()),
            "choices": arrow_array(choices, pa.list_(pa.string())),
        }
        if "names" in rows.table.column_names:
            called = _lists_of_texts(rows, "names")
            for row, (offered, calls) in enumerate(zip(choices, called, strict=True)):
                if len(offered) != len(calls):
                    raise DataError(f"{rows.where(row)}: {len(calls)} names for {len(offered)} choices.")
            columns["names"] = arrow_array(called, pa.list_(pa.string()))
        labels = rows.labels("label", lambda label: label, required=labelled)
        if labels is not None:
            columns["label"] = _labels(rows, labels, choices)
        return pa.table(columns)

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        import numpy as np

        from benchrunner.features.arrays import Features

        starts = _starts(table)
        counts = np.diff(starts)
        first = [text for text, count in zip(table.column("a").to_pylist(), counts, strict=True) for _ in range(count)]
        second = list(chain.from_iterable(table.column("choices").to_pylist()))
        sequences = encoder.assemble(first, second, min(recipe.max_length, encoder.max_length))
        targets = {}
        if (gold := self.gold(table)) is not None:
            right = np.zeros((len(gold), int(counts.max(initial=1))), dtype=bool)
            for row, label in enumerate(gold):
                right[row, label] = True
            targets = {"count": counts, "right": right}
        owner = np.repeat(np.arange(table.num_rows, dtype=np.int64), counts)
        return Features.of(sequences, groups=starts, owner=owner, targets=targets)

    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        import torch

        count = batch.targets["count"]
        right = batch.targets["right"]  # (rows, candidates)
        numbers = torch.arange(right.shape[1], device=count.device)
        offered = numbers < count[:, None]
        # Row by row, as the sequences are. A GPU would have to wait for `masked_scatter`'s backward pass.
        places = (count.cumsum(0) - count)[:, None] + numbers
        scores = outputs.float().squeeze(-1)[places.clamp(max=len(outputs) - 1)].masked_fill(~offered, -torch.inf)
        of_right = scores.masked_fill(~right, -torch.inf).logsumexp(dim=1)
        return (scores.logsumexp(dim=1) - of_right).sum()

    def output_count(self, table: pa.Table) -> int:
        """Return the number of candidates of all rows."""
        return int(_starts(table)[-1])

    def gather(self, outputs: np.ndarray, features: Features, table: pa.Table) -> np.ndarray:
        """Return the log of each candidate's probability among the candidates of its row, fp32 (candidates,)."""
        import numpy as np

        scores = outputs.reshape(-1).astype(np.float64)
        if not len(scores):
            return scores.astype(np.float32)
        starts = _starts(table)
        counts = np.diff(starts)
        scores -= np.repeat(np.maximum.reduceat(scores, starts[:-1]), counts)
        totals = np.add.reduceat(np.exp(scores), starts[:-1])
        return np.asarray(scores - np.repeat(np.log(totals), counts), dtype=np.float32)

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        return [int(outputs[start:end].argmax()) for start, end in pairwise(_starts(table).tolist())]

    def extra_figures(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return `probabilities`, a list for each row, and `choice`, the answer as a text: its name, or the choice."""
        import numpy as np

        called = table.column("names" if "names" in table.column_names else "choices").to_pylist()
        answers = self.decode(outputs, table, settings)
        choices = [texts[number] for texts, number in zip(called, answers, strict=True)]
        probabilities = np.exp(outputs).tolist()
        by_row = [probabilities[start:end] for start, end in pairwise(_starts(table).tolist())]
        return {"probabilities": by_row, "choice": choices}

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        """Return the log of the mean of the members' probabilities."""
        import numpy as np

        if len(outputs) == 1:
            return outputs[0]
        return log_of_mean([np.exp(member.astype(np.float64)) for member in outputs])

    def parse(self, text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text[:9]) >= MOST_CANDIDATES:
            raise ValueError("the number of a candidate, counted from 0")
        return int(text)

    def best_answer(self, gold: Any) -> Any:
        return gold[0] if isinstance(gold, list) else gold

    def majority_output(self, table: pa.Table) -> np.ndarray:
        """Give every candidate the same score: the answer is the first candidate of each row."""
        import numpy as np

        return np.zeros((), dtype=np.float32)


def _starts(table: pa.Table) -> np.ndarray:
    """Return each row's first candidate, counted over all rows, then the number of candidates: int64 (rows + 1,)."""
    return list_starts(table.column("choices"))


def _lists_of_texts(rows: Rows, name: str) -> list[list[str]]:
    """Return a column of lists of one text or more, or raise `DataError`."""
    lists: list[list[str]] = rows.table.column(name).to_pylist()
    for row, texts in enumerate(lists):
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            raise DataError(
                f"{rows.where(row)}: column '{name}' must be a list of one text or more, found {quoted(texts)}."
            )
        if len(texts) > MOST_CANDIDATES:
            raise DataError(f"{rows.where(row)}: {len(texts):,} candidates; {MOST_CANDIDATES:,} is the limit.")
    return lists


def _labels(rows: Rows, labels: Sequence[Any], choices: Sequence[Sequence[str]]) -> pa.Array:
    """Return the labels: numbers, or lists of numbers if any row has a list."""
    for row, label in enumerate(labels):
        numbers = label if isinstance(label, list) else [label]
        count = len(choices[row])
        if not numbers or not all(type(number) is int and 0 <= number < count for number in numbers):
            counted = f"(there are {count} candidates, counted from 0)"
            expected = f"a whole number from 0 to {count - 1}, or a list of such numbers {counted}"
            raise DataError(f"{rows.where(row)}: label {quoted(label)} is not {expected}.")
    if any(isinstance(label, list) for label in labels):
        labels = [label if isinstance(label, list) else [label] for label in labels]
    return arrow_array(labels)
