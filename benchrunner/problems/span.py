"""An answer cut out of a text, or none: a start and an end by their scores, over windows where the text is long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner.backbones.export_kind import ExportKind
from benchrunner.errors import BadRows, DataError, RequestError
from benchrunner.file_faults import quoted
from benchrunner.problems.problem import HeadShape, Problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import torch

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.data.rows import Rows
    from benchrunner.features.arrays import Features
    from benchrunner.features.flat_batch import FlatBatch
    from benchrunner.features.pieces import Pieces
    from benchrunner.metrics import Metric
    from benchrunner.recipes import Recipe

WHOLE = 2.0**24
"""A character behind the end of every text; the largest whole number up to which fp32 holds all."""


@final
@dataclass(frozen=True)
class Span(Problem):
    """Columns: `id`, `question`, `context`, and where labelled `answers` with the character at which each `starts`.

    Devlin et al. 2019, 4.2 and 4.3. A row without answers is a question that the context does not answer; where the
    problem knows such questions, "none" is the span of the first special token alone, and it is the answer unless the
    best span scores higher by more than `tau`, which is tuned on dev.
    """

    unanswerable: bool = False
    """Whether there are questions without an answer."""
    max_question: int = 64
    """Pieces of a question that are read; of a short sequence it takes half at most."""
    max_answer: int = 30
    """The most pieces of an answer."""
    n_best: int = 20
    """Spans kept for each question."""
    name: str = "span"
    label_columns = ("answers", "starts")
    recipe_fields = ("max_length", "stride")

    def identity(self) -> dict[str, Any]:
        """One head, S and E, whatever it is asked: a fit on answerable questions hands it on."""
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
        """Two numbers a token, S.T and E.T, over the last states as they are."""
        return HeadShape("token", 2, dropout=False)

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        import pyarrow as pa

        names = rows.table.column_names
        labelled = labelled or ("answers" in names and rows.table.column("answers").null_count < len(rows))
        wanted = ["id", "question", "context", *["answers", "starts"] * labelled]
        if missing := [one for one in wanted if one not in names]:
            raise DataError(f"{rows.origin}: no column {', '.join(missing)}; found {', '.join(names)}.")
        types = {"answers": pa.list_(pa.string()), "starts": pa.list_(pa.int64())}
        try:
            table = pa.table({name: rows.table.column(name).cast(types.get(name, pa.string())) for name in wanted})
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(f"{rows.origin}: a column is of the wrong kind: {error}.") from None
        if faults := dict(self._faults(table, labelled)):
            raise BadRows({at: rows.where(at) for at in faults}, faults)
        return table

    def _faults(self, table: pa.Table, labelled: bool) -> Iterator[tuple[int, str]]:
        """Row and reason."""
        seen = dict[str, int]()
        for at, row in enumerate(_rows(table)):
            name, question, context, answers, starts = row
            if any(not isinstance(one, str) for one in (name, question, context)):
                yield at, "id, question and context must be texts"
            elif name in seen:
                yield at, f"the id {quoted(name)} stands at row {seen[name]} already"
            elif not context.strip():
                yield at, f"{quoted(name)} has an empty context"
            elif len(context) > WHOLE:
                yield at, f"{quoted(name)} has a context of {len(context):,} characters; {WHOLE:,.0f} can be told apart"
            elif answers is None or starts is None:
                if labelled:
                    yield at, f"{quoted(name)} is not labelled: its list of answers is missing"
            elif reason := self._answer_fault(context, answers, starts):
                yield at, f"{quoted(name)} {reason}"
            seen.setdefault(name, at)

    def _answer_fault(self, context: str, answers: list[Any], starts: list[Any]) -> str:
        if not answers and not self.unanswerable:
            return "has no answer"
        if len(answers) != len(starts):
            return f"has {len(answers)} answers and {len(starts)} places for them"
        for text, start in zip(answers, starts, strict=True):
            if not isinstance(text, str) or not text or not isinstance(start, int):
                return f"has the answer {text!r} at {start!r}; expected a text and a whole number"
            if start < 0 or context[start : start + len(text)] != text:
                found = context[max(start, 0) : max(start, 0) + len(text)]
                return f"has the answer {quoted(text)} at character {start}, where the context has {quoted(found)}"
        return ""

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        """A window is a unit: [CLS] question [SEP] part of the context [SEP], moving on by the recipe's stride."""
        import numpy as np

        from benchrunner.features.arrays import Features
        from benchrunner.features.flat_batch import ranges
        from benchrunner.features.pieces import Part

        texts = table.column("context").combine_chunks().dictionary_encode()
        which = np.asarray(texts.indices, dtype=np.int64)
        contexts = encoder.pieces(texts.dictionary.to_pylist())
        questions = encoder.pieces(table.column("question").to_pylist())
        inside = min(recipe.max_length, encoder.max_length) - encoder.frame.size(pair=True)
        if inside < 2:
            raise RequestError(f"max_length must be at least {recipe.max_length - inside + 2} to hold a pair.")
        # A question takes half of a sequence at most, so that one of any length can be answered.
        asked = np.minimum(questions.counts, min(self.max_question, inside // 2))
        room = inside - asked
        size, step = contexts.counts[which], np.minimum(room, recipe.stride)
        windows = 1 + np.maximum(0, -(-(size - room) // step))
        row = np.repeat(np.arange(table.num_rows), windows)
        begins = ranges(np.zeros_like(windows), windows) * step[row]
        counts = np.minimum(room[row], size[row] - begins)
        first = contexts.starts[which[row]] + begins
        joined = encoder.frame.join(
            Part(questions.tokens, questions.starts[row], asked[row]), Part(contexts.tokens, first, counts)
        )
        targets = dict[str, np.ndarray]()
        if (found := _answer_pieces(table, which, contexts)) is not None:
            inside = (found[0][row] >= first) & (found[1][row] < first + counts)
            for name, piece in zip(("start", "end"), found, strict=True):
                place = joined.second - joined.sequences.starts[:-1] + piece[row] - first
                targets[name] = np.where(inside, place, 0)  # the window does not hold the answer: "none"
        return Features.of(
            joined.sequences,
            owner=row,
            targets=targets,
            guides={
                "place": joined.second,
                "begin": begins,
                "count": counts,
                "text": contexts.starts[which[row]],
                "spans": contexts.spans,
            },
        )

    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """The mean of start's and end's, as in the released code; each softmax goes over the whole sequence."""
        import torch

        scores = outputs.float()
        totals = [
            scores[block.start : block.stop].view(block.count, block.length, 2).logsumexp(dim=1)
            for block in batch.blocks
        ]  # (count, 2) each
        total = torch.cat(totals).index_select(0, batch.restore)
        first = batch.starts[:-1].long().index_select(0, batch.restore)
        right = torch.stack([scores[first + batch.targets["start"], 0], scores[first + batch.targets["end"], 1]], dim=1)
        return (total - right).sum() / 2

    def gather(self, outputs: np.ndarray, features: Features, table: pa.Table) -> np.ndarray:
        """(rows, 1 + n_best, 3): see `nbest`."""
        import numpy as np

        from benchrunner.problems.span_candidates import Window, nbest

        guides = features.guides
        borders = np.searchsorted(features.owner, np.arange(table.num_rows + 1))
        nulls = outputs[features.starts[:-1]].sum(axis=1)
        spans = np.asarray(guides["spans"])
        lists = []
        for row in range(table.num_rows):
            windows = []
            for at in range(borders[row], borders[row + 1]):
                place = int(guides["place"][at])
                scores = outputs[place : place + int(guides["count"][at])]
                windows.append(Window(int(guides["begin"][at]), scores[:, 0], scores[:, 1], float(nulls[at])))
            text = int(guides["text"][borders[row]])
            lists.append(nbest(windows, spans[text:], size=self.n_best, longest=self.max_answer))
        return np.stack(lists)

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        """Cut from the context as it is written; "" is the answer that there is none."""
        tau = settings.get("tau", 0.0)
        answered = self._margin(outputs) > tau
        best = outputs[:, 1, :2].astype(int).tolist()
        contexts = table.column("context").to_pylist()
        rows = zip(contexts, best, answered.tolist(), strict=True)
        return [context[first:last] if given else "" for context, (first, last), given in rows]

    def _margin(self, outputs: np.ndarray) -> np.ndarray:
        """By how much the best span beats "none"; where there is no "none", every span does."""
        import numpy as np

        from benchrunner.problems.span_candidates import NONE, SCORE

        best, none = (outputs[:, at, SCORE].astype(np.float64) for at in (1, NONE))
        if not self.unanswerable:
            return np.where(np.isfinite(best), np.inf, -np.inf)
        return np.asarray(best - none)

    def tune(self, outputs: np.ndarray, table: pa.Table, metric: Metric) -> Mapping[str, Any]:
        """`tau` with the best mean; between two questions' margins it lies in the middle."""
        import numpy as np

        gold = self.gold(table)
        if not self.tunes or gold is None or metric.per_row is None:
            return {}
        margin = self._margin(outputs)
        order = np.argsort(-margin, kind="stable")
        order = order[np.isfinite(margin[order])]  # without any span the answer is "none", whatever tau
        if not len(order):
            return {}
        margin = margin[order]
        texts = self.decode(outputs, table, {"tau": -np.inf})
        gains = np.array([metric.per_row(gold[at], texts[at]) - metric.per_row(gold[at], "") for at in order])
        totals = np.concatenate([[0.0], np.cumsum(gains)])
        cuts = np.concatenate([[margin[0] + 1], (margin[:-1] + margin[1:]) / 2, [margin[-1] - 1]])
        possible = np.concatenate([[True], margin[:-1] > margin[1:], [True]])  # equal margins are answered alike
        return {"tau": float(cuts[np.where(possible, totals, -np.inf).argmax()])}

    def extra_figures(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> dict[str, list[Any]]:
        """`no_answer`: the probability of "none" beside the best span alone. It grows as the margin falls."""
        import numpy as np

        with np.errstate(over="ignore"):
            return {"no_answer": (1 / (1 + np.exp(self._margin(outputs)))).tolist()}

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        from benchrunner.problems.span_candidates import average

        return average(outputs)

    def spell(self, answer: Any) -> str:
        """On one line, as all text files of answers are."""
        return " ".join(str(answer).split())

    def parse(self, text: str) -> str:
        return text

    def best_answer(self, gold: Any) -> Any:
        return gold[0] if gold else ""

    def majority_output(self, table: pa.Table) -> np.ndarray:
        """Without a look at the question: none, where that can be right, else the whole context."""
        import numpy as np

        from benchrunner.problems.span_candidates import NONE, SCORE

        found = np.zeros((1 + self.n_best, 3), dtype=np.float32)
        found[:, SCORE] = -np.inf
        if self.unanswerable and not all(self.gold(table) or []):
            found[NONE, SCORE] = 0.0
        else:
            found[NONE, SCORE], found[1] = 0.0, (0.0, WHOLE, WHOLE)
        return found


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """id, question, context, answers, starts of each row; None for what an unlabelled table lacks."""
    columns = (
        table.column(name).to_pylist() if name in table.column_names else [None] * table.num_rows
        for name in ("id", "question", "context", "answers", "starts")
    )
    return zip(*columns, strict=True)


def _answer_pieces(table: pa.Table, which: np.ndarray, contexts: Pieces) -> tuple[np.ndarray, np.ndarray] | None:
    """The pieces, counted over all contexts, with which each row's first answer begins and ends.

    -1 where there is none. None for rows without labels.
    """
    import numpy as np

    if "answers" not in table.column_names:
        return None
    answers, starts = (table.column(name).to_pylist() for name in ("answers", "starts"))
    left = np.array([some[0] if some else -1 for some in starts])
    right = left + np.array([len(some[0]) if some else 0 for some in answers])
    far = 1 + int(contexts.spans.max(initial=0))  # texts one after another, on one line of numbers
    base = np.repeat(np.arange(len(contexts.counts)), contexts.counts) * far
    first = np.searchsorted(base + contexts.spans[:, 1], which * far + np.maximum(left, 0), side="right")
    last = np.searchsorted(base + contexts.spans[:, 0], which * far + right, side="left") - 1
    there = (left >= 0) & (first <= last)
    return np.where(there, first, -1), np.where(there, last, -1)
