"""Encode questions about long texts: windows over each context, and the tokens at which the answers begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchrunner.errors import RequestError
from benchrunner.features.arrays import Features
from benchrunner.features.blocks import ranges
from benchrunner.features.pieces import Part, Pieces

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.parameters.recipes import Recipe


def encoded_windows(table: pa.Table, encoder: Encoder, recipe: Recipe, *, max_question: int) -> Features:
    """Encode each row as one or several windows: [CLS] question [SEP] part of the context [SEP].

    A window is a unit. The parts of a context begin `recipe.stride` pieces after one another. A question is cut to
    `max_question` pieces, and to half of the sequence. Targets `start` and `end` are places in the window; both are the
    place of the encoder's summary token, such as [CLS], where the window does not hold the whole answer.

    Guides, for each window: `none`, the token of the features that stands for "no answer"; `place`, the token of the
    features at which the context begins; `begin`, the number of the first piece in the context; `count`, the number of
    pieces; `text`, the row of `spans` that is the context's first piece. `spans` holds the characters of all pieces of
    all contexts.
    """
    contexts, context_of = _distinct_contexts(table, encoder)
    questions = encoder.pieces(table.column("question").to_pylist())
    free = min(recipe.max_length, encoder.max_length) - encoder.frame.size(pair=True)
    if free < 2:
        raise RequestError(f"max_length must be at least {recipe.max_length - free + 2} to hold a pair.")
    question_counts = np.minimum(questions.counts, min(max_question, free // 2))
    room = free - question_counts
    size = contexts.counts[context_of]
    step = np.minimum(room, recipe.stride)
    windows = 1 + np.maximum(0, -((room - size) // step))  # the division is rounded up
    row = np.repeat(np.arange(table.num_rows), windows)
    begins = ranges(np.zeros_like(windows), windows) * step[row]
    counts = np.minimum(room[row], size[row] - begins)
    first = contexts.starts[context_of[row]] + begins  # the first piece of each window, counted over all contexts
    question = Part(questions.tokens, questions.starts[row], question_counts[row])
    joined = encoder.frame.join(question, Part(contexts.tokens, first, counts))
    starts = joined.sequences.starts
    none = starts[:-1] if encoder.summary_place == "first" else starts[1:] - 1
    targets = dict[str, np.ndarray]()
    if (answers := _answer_pieces(table, context_of, contexts)) is not None:
        inside = (answers[0][row] >= first) & (answers[1][row] < first + counts)
        for name, piece in zip(("start", "end"), answers, strict=True):
            place = joined.second + piece[row] - first
            targets[name] = np.where(inside, place, none) - starts[:-1]
    return Features.of(
        joined.sequences,
        owner=row,
        targets=targets,
        guides={
            "none": none,
            "place": joined.second,
            "begin": begins,
            "count": counts,
            "text": contexts.starts[context_of[row]],
            "spans": contexts.spans,
        },
    )


def _distinct_contexts(table: pa.Table, encoder: Encoder) -> tuple[Pieces, np.ndarray]:
    """Return the pieces of each distinct context, and the number of each row's context, int64 (rows,)."""
    texts = table.column("context").combine_chunks().dictionary_encode()
    return encoder.pieces(texts.dictionary.to_pylist()), np.asarray(texts.indices, dtype=np.int64)


def _answer_pieces(table: pa.Table, context_of: np.ndarray, contexts: Pieces) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the first and the last piece of each row's first answer, int64 (rows,), or None for rows without labels.

    Pieces are counted over all contexts; -1 for rows without an answer.
    """
    if "answers" not in table.column_names:
        return None
    begin = np.array([starts[0] if starts else -1 for starts in table.column("starts").to_pylist()])
    end = begin + np.array([len(texts[0]) if texts else 0 for texts in table.column("answers").to_pylist()])
    # Characters of all contexts on one line of numbers: context c has those from c * length on.
    length = 1 + int(contexts.spans.max(initial=0))
    context_of_piece = np.repeat(np.arange(len(contexts.counts)), contexts.counts)
    line = contexts.spans + length * context_of_piece[:, None]
    begin_on_line = length * context_of + np.maximum(begin, 0)
    end_on_line = length * context_of + end
    first = np.searchsorted(line[:, 1], begin_on_line, side="right")
    last = np.searchsorted(line[:, 0], end_on_line, side="left") - 1
    exists = (begin >= 0) & (first <= last)
    return np.where(exists, first, -1), np.where(exists, last, -1)
