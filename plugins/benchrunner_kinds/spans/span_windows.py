"""Encode questions about long texts: windows over each context, and the tokens at which the answers begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchrunner import Recipe
from benchrunner.engine import Features, Part, Pieces, blocks, problem

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.engine import Encoder


def encoded_windows(
    table: pa.Table,
    encoder: Encoder,
    recipe: Recipe,
    *,
    max_question: int,
) -> Features:
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
    free = problem.free_pieces(encoder, recipe, pair=True, least=2)
    longest_question = min(max_question, free // 2)
    question_counts = np.minimum(questions.counts, longest_question)
    room = free - question_counts
    size = contexts.counts[context_of]
    step = np.minimum(room, recipe.stride)
    further = -((room - size) // step)  # windows after the first; the division is rounded up
    windows = 1 + np.maximum(0, further)
    row = np.repeat(np.arange(table.num_rows), windows)
    number = blocks.ranges(np.zeros_like(windows), windows)  # of each window in its row
    begins = number * step[row]
    counts = np.minimum(room[row], size[row] - begins)
    text = contexts.starts[context_of[row]]
    first = text + begins  # the first piece of each window, counted over all contexts
    question = Part(questions.tokens, questions.starts[row], question_counts[row])
    context = Part(contexts.tokens, first, counts)
    joined = encoder.frame.join(question, context)
    none = joined.sequences.summary_tokens(encoder.summary_place)
    targets = {}
    if "answers" in table.column_names:
        first_piece, last_piece = _answer_pieces(table, context_of, contexts)
        is_inside = (first_piece[row] >= first) & (last_piece[row] < first + counts)
        for name, piece in (("start", first_piece), ("end", last_piece)):
            place = joined.second + piece[row] - first
            targets[name] = np.where(is_inside, place, none) - joined.sequences.starts[:-1]
    return Features.of(
        joined.sequences,
        owner=row,
        targets=targets,
        guides={
            "none": none,
            "place": joined.second,
            "begin": begins,
            "count": counts,
            "text": text,
            "spans": contexts.spans,
        },
    )


def _distinct_contexts(table: pa.Table, encoder: Encoder) -> tuple[Pieces, np.ndarray]:
    """Return the pieces of each distinct context, and the number of each row's context, int64 (rows,)."""
    texts = table.column("context").combine_chunks().dictionary_encode()
    contexts = encoder.pieces(texts.dictionary.to_pylist())
    return contexts, np.asarray(texts.indices, dtype=np.int64)


def _answer_pieces(
    table: pa.Table,
    context_of: np.ndarray,
    contexts: Pieces,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last piece of each row's first answer, int64 (rows,).

    Pieces are counted over all contexts; -1 for rows without an answer.
    """
    starts = table.column("starts").to_pylist()
    answers = table.column("answers").to_pylist()
    begin = np.full(len(starts), -1)  # first character
    end = np.full(len(starts), -1)
    for row, answers_of_row in enumerate(answers):
        if answers_of_row:
            begin[row] = starts[row][0]
            end[row] = begin[row] + len(answers_of_row[0])
    # Characters of all contexts on one line of numbers: context c has those from c * length on.
    length = 1 + int(contexts.spans.max(initial=0))
    context_of_piece = np.repeat(np.arange(len(contexts.counts)), contexts.counts)
    line = contexts.spans + length * context_of_piece[:, None]
    begin_on_line = length * context_of + np.maximum(begin, 0)
    end_on_line = length * context_of + end
    first = np.searchsorted(line[:, 1], begin_on_line, side="right")
    last = np.searchsorted(line[:, 0], end_on_line, side="left") - 1
    exists = (begin >= 0) & (first <= last)
    first[~exists] = -1
    last[~exists] = -1
    return first, last
