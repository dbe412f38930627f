"""One of several texts for each row: a sequence and a score per text, and one softmax over the texts of a row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, final

from benchrunner import DataError, PluginError, Recipe, Rows, arrow_array, list_starts, quoted
from benchrunner.engine import ExportKind, HeadShape, Problem, probabilities, problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from torch import Tensor

    from benchrunner.engine import Encoder, Features, FlatBatch

MOST_CANDIDATES = 1_000
"""Largest number of candidates of a row: all of them are computed at once, since their softmax needs them together."""


class TextChoice(Problem):
    """A question with texts to choose from. A subclass says how many texts there are, and what a label is.

    Columns: `a`; `choices`, a list of texts; `label`, in rows that are labelled.
    """

    label_columns = ("label",)
    line_columns = ("a", "choices")

    @abstractmethod
    def check_choices(self, rows: Rows) -> list[list[str]]:
        """Return the texts of each row, or raise `DataError`."""

    @abstractmethod
    def check_labels(
        self,
        rows: Rows,
        choices: list[list[str]],
        *,
        required: bool,
    ) -> list[Any] | None:
        """Return the label of each row, or None for rows without labels; raise `DataError` for a wrong label."""

    @abstractmethod
    def targets(self, labels: Sequence[Any], counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return what `loss` reads as the batch's targets. `counts` is the number of texts of each row, (rows,)."""

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
        choices = self.check_choices(rows)
        columns = {
            "a": rows.text_column("a"),
            "choices": arrow_array(choices, pa.list_(pa.string())),
        }
        labels = self.check_labels(rows, choices, required=labelled)
        if labels is not None:
            columns["label"] = arrow_array(labels)
        return pa.table(columns)

    def encode(
        self,
        table: pa.Table,
        encoder: Encoder,
        recipe: Recipe,
        *,
        training: bool,
    ) -> Features:
        """Encode each text as a sequence after the text `a` of its row; a row is a unit."""
        import numpy as np

        from benchrunner.engine import Features

        starts = _starts(table)
        counts = np.diff(starts)
        owner = np.repeat(np.arange(table.num_rows, dtype=np.int64), counts)
        texts = table.column("a").to_pylist()
        first = [texts[row] for row in owner.tolist()]
        second = list(chain.from_iterable(table.column("choices").to_pylist()))
        labels = self.gold(table)
        return Features.of(
            encoder.assemble(first, second, min(recipe.max_length, encoder.max_length)),
            groups=starts,
            owner=owner,
            targets={} if labels is None else self.targets(labels, counts),
        )


@final
@dataclass(frozen=True)
class Choose(problem.OneOf, TextChoice):
    """One of several texts, of which every row offers the same number.

    Columns: `a`; `choices`, a list of texts; `label`, the number of the right text from 0, in rows that are labelled.
    """

    choices: int
    """How many texts every row offers."""
    name: str = "choose"
    batch_fields = ("label_smoothing",)

    def __post_init__(self) -> None:
        if self.choices < 2:
            raise PluginError(f"Choose needs two or more choices, not {self.choices}.")

    @property
    def possible(self) -> range:
        return range(self.choices)

    def check_choices(self, rows: Rows) -> list[list[str]]:
        return rows.text_lists("choices", count=self.choices)

    def check_labels(
        self,
        rows: Rows,
        choices: list[list[str]],
        *,
        required: bool,
    ) -> list[Any] | None:
        return rows.labels("label", lambda label: self.parse(str(label)), required=required)

    def targets(self, labels: Sequence[Any], counts: np.ndarray) -> dict[str, np.ndarray]:
        import numpy as np

        return {"label": np.array(labels, dtype=np.int64)}

    def loss(self, outputs: Tensor, batch: FlatBatch) -> Tensor:
        return batch.cross_entropy(outputs.view(-1, self.choices), batch.targets["label"])

    def gather(self, outputs: np.ndarray, features: Features, table: pa.Table) -> np.ndarray:
        """Return the scores of each row's texts, (rows, choices)."""
        return outputs.reshape(-1, self.choices)

    def parse(self, text: str) -> int:
        if text not in map(str, self.possible):
            raise ValueError(
                f"a whole number from 0 to {self.choices - 1} (there are {self.choices} choices, counted from 0)"
            )
        return int(text)


@final
@dataclass(frozen=True)
class Candidates(TextChoice):
    """One of several texts, of which every row may offer another number; several of them may be right.

    Columns: `a`; `choices`, a list of texts; `label`, in rows that are labelled: the number of the right text from 0,
    or a list of the numbers of all right texts; `names`, a list of texts, if the candidates are called otherwise than
    by the texts in `choices`. An answer is the number of a text. The loss is the negative log of the probability of all
    right texts together.
    """

    name: str = "candidates"

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        import pyarrow as pa

        table = super().check(rows, labelled=labelled)
        if "names" not in rows.table.column_names:
            return table
        names = rows.text_lists("names")
        counts = table.column("choices").combine_chunks().value_lengths().to_pylist()
        for row, (called, count) in enumerate(zip(names, counts, strict=True)):
            if len(called) != count:
                raise DataError(f"{rows.where(row)}: {len(called)} names for {count} choices.")
        return table.append_column("names", arrow_array(names, pa.list_(pa.string())))

    def check_choices(self, rows: Rows) -> list[list[str]]:
        choices = rows.text_lists("choices")
        for row, texts in enumerate(choices):
            if len(texts) > MOST_CANDIDATES:
                raise DataError(f"{rows.where(row)}: {len(texts):,} candidates; {MOST_CANDIDATES:,} is the limit.")
        return choices

    def check_labels(
        self,
        rows: Rows,
        choices: list[list[str]],
        *,
        required: bool,
    ) -> list[Any] | None:
        """Return the labels: numbers, or lists of numbers if any row has a list."""
        labels = rows.labels("label", lambda label: label, required=required)
        if labels is None:
            return None
        lists = [label if isinstance(label, list) else [label] for label in labels]
        for row, numbers in enumerate(lists):
            count = len(choices[row])
            if not numbers or not all(type(number) is int and 0 <= number < count for number in numbers):
                counted = f"(there are {count} candidates, counted from 0)"
                expected = f"a whole number from 0 to {count - 1}, or a list of such numbers {counted}"
                raise DataError(f"{rows.where(row)}: label {quoted(labels[row])} is not {expected}.")
        return lists if list in map(type, labels) else labels

    def targets(self, labels: Sequence[Any], counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return the number of candidates of each row, and which of them are right: bool (rows, most candidates)."""
        import numpy as np

        right = np.zeros((len(labels), counts.max(initial=1)), dtype=bool)
        for row, label in enumerate(labels):
            right[row, label] = True
        return {"count": counts, "right": right}

    def loss(self, outputs: Tensor, batch: FlatBatch) -> Tensor:
        import torch

        count = batch.targets["count"]
        right = batch.targets["right"]  # (rows, candidates)
        numbers = torch.arange(right.shape[1], device=count.device)
        is_offered = numbers < count[:, None]
        # Row by row, as the sequences are. A GPU would have to wait for `masked_scatter`'s backward pass.
        first = count.cumsum(0) - count
        places = (first[:, None] + numbers).clamp(max=len(outputs) - 1)
        scores = outputs.float().squeeze(-1)[places]
        scores = scores.masked_fill(~is_offered, -torch.inf)
        scores_of_right = scores.masked_fill(~right, -torch.inf)
        of_all = scores.logsumexp(dim=1)
        of_right = scores_of_right.logsumexp(dim=1)
        return (of_all - of_right).sum()

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
        highest = np.maximum.reduceat(scores, starts[:-1])
        scores -= np.repeat(highest, counts)
        totals = np.add.reduceat(np.exp(scores), starts[:-1])
        scores -= np.repeat(np.log(totals), counts)
        return scores.astype(np.float32)

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: problem.Settings) -> list[Any]:
        return [int(scores.argmax()) for scores in _by_row(outputs, table)]

    def extra_figures(self, outputs: np.ndarray, table: pa.Table, settings: problem.Settings) -> problem.Figures:
        """Return `probabilities`, a list for each row, and `choice`, the answer as a text: its name, or the choice."""
        import numpy as np

        column = "names" if "names" in table.column_names else "choices"
        names = table.column(column).to_pylist()
        answers = self.decode(outputs, table, settings)
        return {
            "probabilities": [row.tolist() for row in _by_row(np.exp(outputs), table)],
            "choice": [called[answer] for called, answer in zip(names, answers, strict=True)],
        }

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        """Return the log of the mean of the members' probabilities."""
        import numpy as np

        if len(outputs) == 1:
            return outputs[0]
        return probabilities.log_of_mean([np.exp(member.astype(np.float64)) for member in outputs])

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
    """Return each row's first text, counted over all rows, then the number of texts: int64 (rows + 1,)."""
    return list_starts(table.column("choices"))


def _by_row(values: np.ndarray, table: pa.Table) -> list[np.ndarray]:
    """Divide values of all texts, (texts,), into an array for each row."""
    starts = _starts(table).tolist()
    return [values[start:end] for start, end in pairwise(starts)]
