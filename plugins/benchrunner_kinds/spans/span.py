"""An answer that is a span of a text, or none: a score for every start and every end, over windows of long texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

from benchrunner import BadRows, DataError, Metric, Recipe, Rows, gold_rows, quoted
from benchrunner.engine import ExportKind, HeadShape, Problem, problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from torch import Tensor

    from benchrunner.engine import Encoder, Features, FlatBatch
    from benchrunner_kinds.spans.span_candidates import Window

BEYOND = 2.0**24
"""Character position after the end of every context. Raw outputs keep positions as fp32, which represents every whole
number up to this limit exactly."""
_PLACES = ("none", "place", "begin", "count")
"""Guides that have a number for each window: see `encoded_windows`."""


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
    line_columns = ("question", "context")
    recipe_fields = ("max_length", "stride")
    decoding_fields = ("unanswerable", "max_answer", "n_best")
    """The head is the same with and without unanswerable questions: fits can pass it on."""

    @property
    def tunes(self) -> bool:
        return self.unanswerable

    @property
    def decoding(self) -> problem.Settings:
        settings: dict[str, Any] = {"max_answer": self.max_answer, "n_best": self.n_best}
        if self.unanswerable:
            settings["tau"] = 0.0
        return settings

    @property
    def export_kind(self) -> ExportKind:
        return ExportKind("question_answering")

    @property
    def head(self) -> HeadShape:
        """Two numbers per token: its score as the start and its score as the end, without dropout."""
        return HeadShape("token", 2, dropout=False)

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        return _checked_rows(rows, labelled=labelled, unanswerable=self.unanswerable)

    def encode(
        self,
        table: pa.Table,
        encoder: Encoder,
        recipe: Recipe,
        *,
        training: bool,
    ) -> Features:
        """Encode each row as windows over its context; a window is a unit."""
        from benchrunner_kinds.spans.span_windows import encoded_windows

        return encoded_windows(table, encoder, recipe, max_question=self.max_question)

    def loss(self, outputs: Tensor, batch: FlatBatch) -> Tensor:
        """Return the mean of the losses of start and end, as in the released code.

        Each softmax goes over all tokens of a sequence.
        """
        import torch

        scores = outputs.float()
        if scores.device.type == "cpu" and batch.static is None:
            parts = []
            for block in batch.blocks:
                part = scores[block.start : block.stop]
                by_sequence = part.view(block.count, block.length, 2)
                parts.append(by_sequence.logsumexp(dim=1))
            totals = torch.cat(parts)
        else:  # a few operators, and not some for each length
            totals = batch.padded(scores, -torch.inf).logsumexp(dim=1)
        totals = totals.index_select(0, batch.restore)  # (rows, 2)
        starts = batch.starts[:-1].long()
        first = starts.index_select(0, batch.restore)
        start = scores.index_select(0, first + batch.targets["start"])[:, 0]
        end = scores.index_select(0, first + batch.targets["end"])[:, 1]
        right = torch.stack([start, end], dim=1)
        return (totals - right).sum() / 2

    def gather(
        self,
        outputs: np.ndarray,
        features: Features,
        table: pa.Table,
    ) -> np.ndarray:
        """Return the best spans of each row, (rows, 1 + n_best, 3), in the layout of `span_candidates`."""
        import numpy as np

        from benchrunner_kinds.spans.span_candidates import nbest

        guides = {name: np.asarray(values) for name, values in features.guides.items()}
        borders = np.searchsorted(features.owner, np.arange(table.num_rows + 1))
        lists = []
        for first, end in pairwise(borders.tolist()):  # the windows of a row
            windows = []
            for number in range(first, end):
                places = {name: int(guides[name][number]) for name in _PLACES}
                windows.append(self._window(outputs, places))
            first_piece = guides["text"][first]
            spans = guides["spans"][first_piece:]
            lists.append(nbest(windows, spans, size=self.n_best, longest=self.max_answer))
        return np.stack(lists)

    def _window(self, outputs: np.ndarray, guides: Mapping[str, int]) -> Window:
        """Return the scores of a window. `guides` are those of `encoded_windows`."""
        from benchrunner_kinds.spans.span_candidates import Window

        place = guides["place"]
        none = guides["none"]
        stop = place + guides["count"]
        is_piece = self.unanswerable and place <= none < stop
        return Window(
            first=guides["begin"],
            starts=outputs[place:stop, 0],
            ends=outputs[place:stop, 1],
            null=float(outputs[none].sum()),
            null_piece=none - place if is_piece else -1,
        )

    def decode(
        self,
        outputs: np.ndarray,
        table: pa.Table,
        settings: problem.Settings,
    ) -> list[Any]:
        """Cut each answer from its context; the empty text stands for "no answer"."""
        tau = settings.get("tau", 0.0)
        has_answer = (self._margin(outputs) > tau).tolist()
        best = outputs[:, 1, :2].astype(int).tolist()  # first character and end
        answers = []
        for row, context in enumerate(table.column("context").to_pylist()):
            first, end = best[row]
            answers.append(context[first:end] if has_answer[row] else "")
        return answers

    def _margin(self, outputs: np.ndarray) -> np.ndarray:
        """Return the score of each row's best span minus the score of "no answer", fp64 (rows,).

        Without unanswerable questions the margin is infinite, so that the best span is the answer.
        """
        import numpy as np

        from benchrunner_kinds.spans.span_candidates import NONE, SCORE

        scores = outputs[:, :, SCORE].astype(np.float64)
        best = scores[:, 1]
        if not self.unanswerable:
            return np.where(np.isfinite(best), np.inf, -np.inf)
        return np.asarray(best - scores[:, NONE])

    def tune(self, outputs: np.ndarray, table: pa.Table, metric: Metric) -> problem.Settings:
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
        gains = [
            0.0,
            *(metric.gain(metric.per_row(right[row], texts[row]) - metric.per_row(right[row], "")) for row in order),
        ]
        # Entry k: the first k rows have their best span as the answer, with the tau between margins k - 1 and k.
        totals = np.cumsum(gains)
        between = (margin[:-1] + margin[1:]) / 2
        taus = np.concatenate([[margin[0] + 1], between, [margin[-1] - 1]])
        is_equal = margin[:-1] == margin[1:]
        totals[1:-1][is_equal] = -np.inf  # no tau lies between equal margins
        return {"tau": float(taus[totals.argmax()])}

    def extra_figures(
        self,
        outputs: np.ndarray,
        table: pa.Table,
        settings: problem.Settings,
    ) -> problem.Figures:
        """Return `no_answer`: the probability of "no answer" in a softmax over it and the best span."""
        import numpy as np

        with np.errstate(over="ignore"):
            odds = np.exp(self._margin(outputs))  # of the best span
        return {"no_answer": (1 / (1 + odds)).tolist()}

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        from benchrunner_kinds.spans.span_candidates import average

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
        output = self._no_answer()
        if not self.unanswerable or all(self.gold(table) or []):
            output[1] = (0.0, BEYOND, BEYOND)
        return output

    def fallback_output(self) -> np.ndarray | None:
        """Return "no answer", where questions may have none."""
        return self._no_answer() if self.unanswerable else None

    def _no_answer(self) -> np.ndarray:
        from benchrunner_kinds.spans.span_candidates import NONE, SCORE, empty_list

        output = empty_list(self.n_best)
        output[NONE, SCORE] = 0.0
        return output


def _checked_rows(rows: Rows, *, labelled: bool, unanswerable: bool) -> pa.Table:
    """Return the columns of span tasks: unique ids, contexts that are not empty, answers that are at their offsets.

    Raises a `DataError`, or `BadRows` with the reason for each bad row.

    `unanswerable` says whether rows without an answer are allowed.
    """
    import pyarrow as pa

    names = rows.table.column_names
    columns = dict.fromkeys(("id", "question", "context"), pa.string())
    if labelled or ("answers" in names and rows.table.column("answers").null_count < len(rows)):
        labelled = True
        columns |= {"answers": pa.list_(pa.string()), "starts": pa.list_(pa.int64())}
    rows.require(columns)
    try:
        table = rows.table.select(list(columns)).cast(pa.schema(columns))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"{rows.origin}: a column is of the wrong kind: {error}.") from None
    if faults := dict(_faults(table, labelled, unanswerable)):
        raise BadRows({row: rows.where(row) for row in faults}, faults)
    return table


def _faults(
    table: pa.Table,
    labelled: bool,
    unanswerable: bool,
) -> Iterator[tuple[int, str]]:
    """Yield each bad row with the reason."""
    row_of = dict[str, int]()
    # The Python texts of all rows would take memory.
    rows = (values for part in table.to_batches(1000) for values in part.to_pylist())
    for row, values in enumerate(rows):
        name = values["id"]
        context = values["context"]
        answers = values.get("answers")
        starts = values.get("starts")
        if not all(isinstance(values[column], str) for column in ("id", "question", "context")):
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
            found = f"the answer {quoted(answer)} at {quoted(start)}"
            return f"has {found}; expected a text and a whole number"
        first = max(start, 0)
        text = context[first : first + len(answer)]
        if start < 0 or text != answer:
            return f"has the answer {quoted(answer)} at character {start}, where the context has {quoted(text)}"
    return ""
