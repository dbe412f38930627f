"""Ranking of the candidates that each row offers, by a cross-encoder: query and candidate are read together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, final

from benchrunner import DataError, Recipe, Rows, arrow_array, list_starts
from benchrunner.engine import ExportKind, HeadShape
from benchrunner_ranking.rankings import RankingProblem, judgement_column, judgements, ranking

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from torch import Tensor

    from benchrunner.engine import Encoder, Features, FlatBatch


MOST_CANDIDATES = 1_000
"""Largest number of candidates of a row: training computes all of them at once."""
NO_CANDIDATE = -1
"""Grade in a batch behind the candidates of a row."""


@final
@dataclass(frozen=True)
class Rank(RankingProblem):
    """Candidates of a query, of which every row may offer another number; a row is one query with all its candidates.

    Columns: `a`, the query; `choices`, the texts of the candidates; `ids`, their names (without this column their
    numbers from 0); `label` as in `RankingProblem`, or a list with one grade for each candidate. The loss is the
    cross-entropy between grades, as shares of their sum, and the softmax over the candidates of the query; a query
    without relevant candidates has no loss.
    """

    name: str = "rank"
    line_columns = ("a", "choices")

    @property
    def head(self) -> HeadShape:
        return HeadShape("sequence", 1)

    @property
    def export_kind(self) -> ExportKind:
        return ExportKind("regression", ("relevance",))

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        import pyarrow as pa

        rows.require(("a", "choices", "label") if labelled else ("a", "choices"))
        choices = rows.text_lists("choices")
        ids = [list(map(str, range(len(texts)))) for texts in choices]
        if "ids" in rows.table.column_names:
            ids = rows.text_lists("ids")
        for row, (texts, names) in enumerate(zip(choices, ids, strict=True)):
            _check_candidates(rows.where(row), texts, names)
        texts_of_rows = pa.list_(pa.string())
        columns = {
            "a": rows.text_column("a"),
            "choices": arrow_array(choices, texts_of_rows),
            "ids": arrow_array(ids, texts_of_rows),
        }
        judged = judgements(rows, ids, required=labelled)
        if judged is not None:
            columns["label"] = judgement_column(judged)
        return pa.table(columns)

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        """Encode each candidate as a sequence after the query; a row is a unit."""
        import numpy as np

        from benchrunner.engine import Features

        starts = list_starts(table.column("choices"))
        counts = np.diff(starts)
        owner = np.repeat(np.arange(table.num_rows), counts)
        queries = table.column("a").to_pylist()
        candidates = list(chain.from_iterable(table.column("choices").to_pylist()))
        length = min(recipe.max_length, encoder.max_length)
        gold = self.gold(table)
        return Features.of(
            encoder.assemble([queries[row] for row in owner], candidates, length),
            groups=starts,
            owner=owner,
            targets={} if gold is None else {"grade": _grades(table, gold, counts)},
        )

    def loss(self, outputs: Tensor, batch: FlatBatch) -> Tensor:
        import torch

        grades = batch.targets["grade"]  # (rows, most candidates)
        is_offered = grades != NO_CANDIDATE
        places = is_offered.flatten().cumsum(0).view(grades.shape) - 1
        scores = outputs.float().squeeze(-1)[places.clamp(min=0)]
        logs = scores.masked_fill(~is_offered, -torch.inf).log_softmax(dim=1)
        gains = grades.clamp(min=0)
        shares = gains / gains.sum(dim=1, keepdim=True).clamp(min=1)
        return -(shares * logs.where(is_offered, 0.0)).sum()

    def output_count(self, table: pa.Table) -> int:
        """Return the number of candidates of all rows."""
        return int(list_starts(table.column("choices"))[-1])

    def gather(self, outputs: np.ndarray, features: Features, table: pa.Table) -> np.ndarray:
        """Return the score of each candidate, (candidates,)."""
        return outputs.reshape(-1)

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        answers = []
        names = table.column("ids").to_pylist()
        starts = list_starts(table.column("choices")).tolist()
        for row, (start, end) in enumerate(pairwise(starts)):
            answers.append(ranking(names[row], outputs[start:end]))
        return answers

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        """Return the mean of the members' scores."""
        import numpy as np

        return np.asarray(np.mean(np.stack(outputs), axis=0))

    def majority_output(self, table: pa.Table) -> np.ndarray:
        """Give every candidate the same score, so that metrics expect a random order."""
        return self.fallback_output()

    def fallback_output(self) -> np.ndarray:
        import numpy as np

        return np.zeros((), dtype=np.float32)


def _check_candidates(where: str, texts: Sequence[str], names: Sequence[str]) -> None:
    if len(names) != len(texts):
        raise DataError(f"{where}: {len(names)} ids for {len(texts)} candidates.")
    if len(set(names)) < len(names):
        raise DataError(f"{where}: two candidates have one id.")
    if len(texts) > MOST_CANDIDATES:
        raise DataError(f"{where}: {len(texts):,} candidates; {MOST_CANDIDATES:,} is the limit.")


def _grades(table: pa.Table, gold: Sequence[Any], counts: np.ndarray) -> np.ndarray:
    """Return the grade of each candidate, 0 if it is not judged: fp32 (rows, most candidates)."""
    import numpy as np

    grades = np.full((len(gold), counts.max(initial=1)), NO_CANDIDATE, dtype=np.float32)
    for row, (names, judged) in enumerate(zip(table.column("ids").to_pylist(), gold, strict=True)):
        grade_of = {part["id"]: max(part["grade"], 0) for part in judged}
        grades[row, : len(names)] = [grade_of.get(name, 0) for name in names]
    return grades
