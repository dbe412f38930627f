"""One label for marked words in a text or a pair of texts: the head reads the states of these words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner import DataError, OneLabel, PluginError, Recipe, Rows, arrow_array, quoted
from benchrunner.engine import HeadShape, problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from torch import Tensor

    from benchrunner.engine import Encoder, Features, FlatBatch, Pieces, Sequences


@final
@dataclass(frozen=True)
class ClassifyWords(OneLabel):
    """One of several labels for words in their context, for example whether two words mean the same (Wang et al. 2019).

    Columns: the texts `a` and, for tasks with pairs, `b`; `marks`, a list with an entry for each marked word or phrase:
    the number of its text (0 for `a`, 1 for `b`), its first character and the character after its last; `label`, in
    rows that are labelled. A linear layer reads the states of the summary token and of each mark's first piece, side
    by side. A text that is too long is cut around its marks.
    """

    marks: int = 2
    """How many marks every row has."""
    name: str = "classify-words"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.marks < 1:
            raise PluginError(f"ClassifyWords needs one mark or more, not {self.marks}.")

    @property
    def head(self) -> HeadShape:
        """For every token, the share of the outputs that it gives as the summary token, as the first mark and so on.

        The sum of these shares is a linear layer over the states side by side.
        """
        return HeadShape("token", (1 + self.marks) * self.width)

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        import pyarrow as pa

        rows.require(("marks",))
        table = super().check(rows, labelled=labelled)
        texts = [table.column(name).to_pylist() for name in _text_columns(table)]
        marks = rows.table.column("marks").to_pylist()
        for row, value in enumerate(marks):
            texts_of_row = [column[row] for column in texts]
            if reason := self._fault(value, texts_of_row):
                raise DataError(f"{rows.where(row)}: {reason}.")
        return table.append_column("marks", arrow_array(marks, pa.list_(pa.list_(pa.int64()))))

    def _fault(self, marks: Any, texts: Sequence[str]) -> str:
        """Say what is wrong with the marks of a row, or return an empty text."""
        if not isinstance(marks, list) or len(marks) != self.marks:
            return f"column 'marks' must have {self.marks} marks, found {quoted(marks)}"
        for mark in marks:
            if not isinstance(mark, list) or len(mark) != 3 or not all(type(number) is int for number in mark):
                return f"a mark is a list of its text's number, its first character and its end, not {quoted(mark)}"
            number, first, end = mark
            if not 0 <= number < len(texts):
                return f"the mark {mark} is in text {number}; there are {len(texts)}, counted from 0"
            text = texts[number]
            if not 0 <= first < end <= len(text) or not text[first:end].strip():
                return f"the mark {mark} marks no word of its text, which has {len(text)} characters"
        return ""

    def encode(
        self,
        table: pa.Table,
        encoder: Encoder,
        recipe: Recipe,
        *,
        training: bool,
    ) -> Features:
        """Encode each row as one sequence. The target `places` has the summary token and the marks, in the sequence.

        The guide `places` has the same tokens, counted over all sequences.
        """
        from benchrunner.engine import Features

        sequences, places = _encoded(table, encoder, recipe)
        labels = self.gold(table)
        targets = {}
        if labels is not None:
            in_sequence = places - sequences.starts[:-1, None]
            targets = {"places": in_sequence, "label": self.targets(labels)}
        return Features.of(sequences, targets=targets, guides={"places": places})

    def loss(self, outputs: Tensor, batch: FlatBatch) -> Tensor:
        starts = batch.starts[:-1].long()
        first = starts.index_select(0, batch.restore)  # (rows,)
        places = first[:, None] + batch.targets["places"]
        scores: Any = self._sum(outputs.float()[places])
        return batch.cross_entropy(scores, batch.targets["label"])

    def _sum(self, read: Any) -> Any:
        """Add up the shares of the outputs (rows, places, all outputs) that belong to their places: (rows, labels)."""
        shares = []
        for place in range(1 + self.marks):
            begin = place * self.width
            shares.append(read[:, place, begin : begin + self.width])
        return sum(shares)

    def gather(
        self,
        outputs: np.ndarray,
        features: Features,
        table: pa.Table,
    ) -> np.ndarray:
        """Return the scores of each row's labels, (rows, labels)."""
        import numpy as np

        places = np.asarray(features.guides["places"])
        return np.asarray(self._sum(outputs[places]))


def _text_columns(table: pa.Table) -> list[str]:
    return [name for name in ("a", "b") if name in table.column_names]


def _encoded(
    table: pa.Table,
    encoder: Encoder,
    recipe: Recipe,
) -> tuple[Sequences, np.ndarray]:
    """Return a sequence for each row, and the tokens to read: int64 (rows, 1 + marks), counted over all sequences.

    The first token is the encoder's summary token, the others are the first piece of each mark. The summary token
    stands for a mark that the cut text no longer shows.
    """
    import numpy as np

    from benchrunner.engine import Part

    texts = [encoder.pieces(table.column(name).to_pylist()) for name in _text_columns(table)]
    marks = np.array(table.column("marks").to_pylist(), dtype=np.int64)  # (rows, marks, 3)
    free = problem.free_pieces(encoder, recipe, pair=len(texts) > 1, least=len(texts))
    # Of a pair that is too long, the longer text is cut first.
    rooms = texts[0].counts_beside(texts[1], free) if len(texts) > 1 else (np.minimum(texts[0].counts, free),)
    parts = []
    offsets = []  # of each text: the place of each mark in the pieces that are shown
    for number, text in enumerate(texts):
        room = rooms[number]
        pieces = _first_pieces(text, marks, number)
        begin = _begins(text.counts, room, pieces)
        parts.append(Part(text.tokens, text.starts[:-1] + begin, room))
        offset = pieces - begin[:, None]
        is_shown = (pieces >= 0) & (offset < room[:, None])
        offsets.append(np.where(is_shown, offset, -1))
    joined = encoder.frame.join(*parts)
    text_begins = (joined.first, joined.second)
    summary = joined.sequences.summary_tokens(encoder.summary_place)
    places = np.repeat(summary[:, None], 1 + marks.shape[1], axis=1)
    of_marks = places[:, 1:]
    for number, offset in enumerate(offsets):
        is_shown = offset >= 0
        tokens = text_begins[number][:, None] + offset
        of_marks[is_shown] = tokens[is_shown]
    return joined.sequences, places


def _first_pieces(text: Pieces, marks: np.ndarray, number: int) -> np.ndarray:
    """Return the first piece of each mark in a text, counted in the text: int64 (rows, marks).

    The piece is -1 for marks in the other text, and for marks without a piece.
    """
    import numpy as np

    first = np.full(marks.shape[:2], -1, dtype=np.int64)
    is_in_text = marks[:, :, 0] == number
    for row, mark in np.argwhere(is_in_text).tolist():
        _, begin, end = marks[row, mark]
        spans = text.spans[text.starts[row] : text.starts[row + 1]]
        ends = spans[:, 1]
        piece = int(np.searchsorted(ends, begin, side="right"))
        if piece < len(spans) and spans[piece, 0] < end:
            first[row, mark] = piece
    return first


def _begins(counts: np.ndarray, room: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Return the first piece that is shown of each text: the marks are in the middle of a text that is cut."""
    import numpy as np

    is_known = pieces >= 0
    first = np.where(is_known, pieces, counts[:, None]).min(axis=1)
    last = pieces.max(axis=1)
    middle = (first + last) // 2
    middle[last < 0] = 0
    begin = middle - room // 2
    return np.asarray(np.clip(begin, 0, counts - room))
