"""An answer that is a span of a text, or none: a score for every start and every end, over windows of long texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner.backbones.export_kind import ExportKind
from benchrunner.errors import BadRows, DataError
from benchrunner.io.file_faults import quoted, shown
from benchrunner.metrics import gold_rows
from benchrunner.problems.problem import HeadShape, Problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import torch

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.data.rows import Rows
    from benchrunner.features.arrays import Features
    from benchrunner.features.flat_batch import FlatBatch
    from benchrunner.metrics import Metric
    from benchrunner.parameters.recipes import Recipe

BEYOND = 2.0**24
"""Character position after the end of every context. Raw outputs keep positions as fp32, which represents every whole
number up to this limit exactly."""


@final
@dataclass(frozen=True)
class Span(Problem):
    """An answer cut out of a context (Devlin et al. 2019, 4.2 and 4.3).

    Columns: `id`, `question`, `context`; in rows that are labelled, `answers`, a list of right answers, and `starts`,
    the character at which each answer begins. A row without answers is a question that the context does not answer. If
    there are such questions, the span of the encoder's summary token, such as [CLS], stands for "no answer"; it is the
    answer unless the score of the best span is higher by more than `tau`, which is tuned on dev.
    """

    unanswerable: bool = False
    """Whether some questions have no answer in their context."""
    max_question: int = 64
    """Longer questions are cut to this number of pieces, and to half of a sequence."""
    max_answer: int = 30
    """The largest number of pieces of an answer."""
    n_best: int = 20
    """How many spans are kept for each question."""
    name: str = "span"
    label_columns = ("answers", "starts")
    recipe_fields = ("max_length", "stride")

    def identity(self) -> dict[str, Any]:
        """Describe the head, which is the same with and without unanswerable questions: fits can pass it on."""
        return {"kind": self.name, "max_question": self.max_question}

    @property
    def tunes(self) -> bool:
        return self.unanswerable

    @property
    def decoding(self) -> Mapping[str, Any]:
        settings: dict[str, Any] = {"max_answer": self.max_answer, "n_best": self.n_best}
        return settings | {"tau": 0.0} if self.unanswerable else settings

    @property
    def export_kind(self) -> ExportKind:
        return ExportKind("question_answering")

    @property
    def head(self) -> HeadShape:
        """Two numbers per token: its score as the start and its score as the end, without dropout."""
        return HeadShape("token", 2, dropout=False)

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        return _checked_rows(rows, labelled=labelled, unanswerable=self.unanswerable)

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        """Encode each row as windows over its context; a window is a unit."""
        from benchrunner.problems.span_windows import encoded_windows

        return encoded_windows(table, encoder, recipe, max_question=self.max_question)

    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """Return the mean of the losses of start and end, as in the released code.

        Each softmax goes over all tokens of a sequence.
        """
        import torch

        scores = outputs.float()
        if scores.device.type == "cpu" and batch.static is None:
            parts = []
            for block in batch.blocks:
                part = scores[block.start : block.stop].view(block.count, block.length, 2)
                parts.append(part.logsumexp(dim=1))
            totals = torch.cat(parts)
        else:  # a few operators, and not some for each length
            totals = batch.padded(scores, -torch.inf).logsumexp(dim=1)
        total = totals.index_select(0, batch.restore)  # (rows, 2)
        first = batch.starts[:-1].long().index_select(0, batch.restore)
        start = scores.index_select(0, first + batch.targets["start"])[:, 0]
        end = scores.index_select(0, first + batch.targets["end"])[:, 1]
        return (total - torch.stack([start, end], dim=1)).sum() / 2

    def gather(self, outputs: np.ndarray, features: Features, table: pa.Table) -> np.ndarray:
        """Return the best spans of each row, (rows, 1 + n_best, 3), in the layout of `span_candidates`."""
        import numpy as np

        from benchrunner.problems.span_candidates import Window, nbest

        guides = features.guides
        borders = np.searchsorted(features.owner, np.arange(table.num_rows + 1))
        none = np.asarray(guides["none"])
        null_scores = outputs[none].sum(axis=1)
        spans = np.asarray(guides["spans"])
        lists = []
        for row in range(table.num_rows):
            windows = []
            for window in range(borders[row], borders[row + 1]):
                place = int(guides["place"][window])
                scores = outputs[place : place + int(guides["count"][window])]
                begin = int(guides["begin"][window])
                null_score = float(null_scores[window])
                is_piece = self.unanswerable and place <= none[window] < place + len(scores)
                null_piece = int(none[window]) - place if is_piece else -1
                windows.append(Window(begin, scores[:, 0], scores[:, 1], null_score, null_piece))
            text = int(guides["text"][borders[row]])
            lists.append(nbest(windows, spans[text:], size=self.n_best, longest=self.max_answer))
        return np.stack(lists)

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        """Cut each answer from its context; the empty text stands for "no answer"."""
        tau = settings.get("tau", 0.0)
        answered = self._margin(outputs) > tau
        best = outputs[:, 1, :2].astype(int).tolist()
        contexts = table.column("context").to_pylist()
        rows = zip(contexts, best, answered.tolist(), strict=True)
        return [context[first:last] if given else "" for context, (first, last), given in rows]

    def _margin(self, outputs: np.ndarray) -> np.ndarray:
        """Return the score of each row's best span minus the score of "no answer", fp64 (rows,).

        Without unanswerable questions the margin is infinite, so that the best span is the answer.
        """
        import numpy as np

        from benchrunner.problems.span_candidates import NONE, SCORE

        best = outputs[:, 1, SCORE].astype(np.float64)
        if not self.unanswerable:
            return np.where(np.isfinite(best), np.inf, -np.inf)
        return np.asarray(best - outputs[:, NONE, SCORE].astype(np.float64))

    def tune(self, outputs: np.ndarray, table: pa.Table, metric: Metric) -> Mapping[str, Any]:
        """Choose the `tau` with the best mean of the metric over the rows; it lies midway between two rows' margins.

        Rows are sorted by margin. Lowering `tau` past a row changes its answer from "no answer" to its best span, so
        one pass over the gains of the rows finds the best `tau`.
        """
        import numpy as np

        gold = self.gold(table)
        if not self.tunes or gold is None or metric.per_row is None:
            return {}
        right = gold_rows(metric, gold, table)
        margin = self._margin(outputs)
        order = np.argsort(-margin, kind="stable")
        order = order[np.isfinite(margin[order])]  # a row without any span has "no answer" for every tau
        if not len(order):
            return {}
        margin = margin[order]
        texts = self.decode(outputs, table, {"tau": -np.inf})
        gains = [metric.per_row(right[row], texts[row]) - metric.per_row(right[row], "") for row in order]
        # Entry k: the first k rows have their best span as the answer, with the tau between margins k - 1 and k.
        totals = np.cumsum([0.0, *gains])
        taus = np.concatenate([[margin[0] + 1], (margin[:-1] + margin[1:]) / 2, [margin[-1] - 1]])
        totals[1:-1][margin[:-1] == margin[1:]] = -np.inf  # no tau lies between equal margins
        return {"tau": float(taus[totals.argmax()])}

    def extra_figures(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return `no_answer`: the probability of "no answer" in a softmax over it and the best span."""
        import numpy as np

        with np.errstate(over="ignore"):
            return {"no_answer": (1 / (1 + np.exp(self._margin(outputs)))).tolist()}

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        from benchrunner.problems.span_candidates import average

        return average(outputs)

    def spell(self, answer: Any) -> str:
        """Write the answer on one line: white space becomes single spaces."""
        return " ".join(str(answer).split())

    def parse(self, text: str) -> str:
        return text

    def best_answer(self, gold: Any) -> Any:
        return gold[0] if gold else ""

    def majority_output(self, table: pa.Table) -> np.ndarray:
        """Return "no answer" if a training row has no answer, else the whole context."""
        import numpy as np

        from benchrunner.problems.span_candidates import NONE, SCORE

        output = np.zeros((1 + self.n_best, 3), dtype=np.float32)
        output[:, SCORE] = -np.inf
        output[NONE, SCORE] = 0.0
        if not self.unanswerable or all(self.gold(table) or []):
            output[1] = (0.0, BEYOND, BEYOND)
        return output


def _checked_rows(rows: Rows, *, labelled: bool, unanswerable: bool) -> pa.Table:
    """Return the columns of span tasks: unique ids, contexts that are not empty, answers that are at their offsets.

    Raises a `DataError`, or `BadRows` with the reason for each bad row.

    `unanswerable` says whether rows without an answer are allowed.
    """
    import pyarrow as pa

    names = rows.table.column_names
    labelled = labelled or ("answers" in names and rows.table.column("answers").null_count < len(rows))
    needed = ["id", "question", "context", *["answers", "starts"] * labelled]
    rows.require(needed)
    types = {"answers": pa.list_(pa.string()), "starts": pa.list_(pa.int64())}
    try:
        table = pa.table({name: rows.table.column(name).cast(types.get(name, pa.string())) for name in needed})
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"{rows.origin}: a column is of the wrong kind: {error}.") from None
    if faults := dict(_faults(table, labelled, unanswerable)):
        raise BadRows({row: rows.where(row) for row in faults}, faults)
    return table


def _faults(table: pa.Table, labelled: bool, unanswerable: bool) -> Iterator[tuple[int, str]]:
    """Yield each bad row with the reason."""
    row_of = dict[str, int]()
    for row, (name, question, context, answers, starts) in enumerate(_values(table)):
        if any(not isinstance(text, str) for text in (name, question, context)):
            yield row, "id, question and context must be texts"
        elif name in row_of:
            yield row, f"the id {quoted(name)} stands at row {row_of[name]} already"
        elif not context.strip():
            yield row, f"{quoted(name)} has an empty context"
        elif len(context) > BEYOND:
            yield row, f"{quoted(name)} has a context of {len(context):,} characters; {BEYOND:,.0f} is the limit"
        elif answers is None or starts is None:
            if labelled:
                yield row, f"{quoted(name)} is not labelled: its list of answers is missing"
        elif not answers and not unanswerable:
            yield row, f"{quoted(name)} has no answer"
        elif reason := _answer_fault(context, answers, starts):
            yield row, f"{quoted(name)} {reason}"
        row_of.setdefault(name, row)


def _answer_fault(context: str, answers: list[Any], starts: list[Any]) -> str:
    """Say what is wrong with the answers of a row, or return an empty text."""
    if len(answers) != len(starts):
        return f"has {len(answers)} answers and {len(starts)} places for them"
    for answer, start in zip(answers, starts, strict=True):
        if not isinstance(answer, str) or not answer or not isinstance(start, int):
            return f"has the answer {shown(answer)} at {shown(start)}; expected a text and a whole number"
        if start < 0 or context[start : start + len(answer)] != answer:
            text = context[max(start, 0) : max(start, 0) + len(answer)]
            return f"has the answer {quoted(answer)} at character {start}, where the context has {quoted(text)}"
    return ""


def _values(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield id, question, context, answers and starts of each row, with None for columns that the table lacks."""
    columns = []
    for name in ("id", "question", "context", "answers", "starts"):
        columns.append(table.column(name).to_pylist() if name in table.column_names else [None] * table.num_rows)
    return zip(*columns, strict=True)
