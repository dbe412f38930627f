"""Encode sentences of words: windows of pieces, with a target at the piece at which each word is scored."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from benchrunner import PluginError, Recipe, RequestError, list_starts
from benchrunner.engine import Features, Part, Sequences, arrays, blocks, problem

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.engine import Encoder


@dataclass(frozen=True)
class Borders:
    """First positions of words, sentences and documents. The last entry of each array is the end of the last item."""

    words: np.ndarray
    """int64 (words + 1,): first piece of each word"""
    sentences: np.ndarray
    """int64 (sentences + 1,): first word of each sentence"""
    documents: np.ndarray | None
    """int64 (documents + 1,): first word of each document; None if unknown"""


@dataclass(frozen=True)
class Ranges:
    """Ranges of neighbouring words."""

    first: np.ndarray
    """int64 (ranges,): the first word of each range"""
    end: np.ndarray
    """int64 (ranges,): the word after the last word of each range"""


@dataclass(frozen=True)
class Windows:
    """Windows of neighbouring words. Each word is shown in one window or more and scored in one of them."""

    first: np.ndarray
    """int64 (windows,): the first word that a window shows"""
    end: np.ndarray
    """int64 (windows,): the word after the last word that a window shows"""
    scored_in: np.ndarray
    """int64 (words,): the window in which each word is scored; at least one word is scored in each window"""


def windows(limits: Borders, context: str, room: int, *, training: bool) -> Windows:
    """Divide the words into windows of at most `room` pieces; no word may have more pieces.

    In training, each sentence is shown once: whole if it fits, and in the context `document` together with neighbouring
    sentences. In prediction, text that is too long for one window gets several windows that overlap by half a window or
    more. A word is scored in the window where the smaller of the numbers of pieces on its two sides is largest. The
    context `window` shows a sentence with as much of its document on both sides as there is room for.
    """
    words = limits.words
    sentences = limits.sentences
    documents = limits.documents
    if documents is None:
        if context != "sentence":
            raise ValueError(f"the context '{context}' needs documents")
        documents = sentences
    if not training:
        own = _overlapping(words, documents if context == "document" else sentences, room)
    else:
        parts = _packed(words, sentences, room)
        if context == "document":
            documents_in_parts = np.searchsorted(parts, documents)
            parts = parts[_packed(words[parts], documents_in_parts, room)]
        own = Ranges(parts[:-1], parts[1:])
    shown = _widened(words, documents, own, room) if context == "window" else own
    best = _best(words, own, shown)
    used, scored_in = np.unique(best, return_inverse=True)
    return Windows(shown.first[used], shown.end[used], scored_in.reshape(-1))


def _packed(places: np.ndarray, borders: np.ndarray, room: int) -> np.ndarray:
    """Return where the longest runs of items begin that fit into `room` pieces and cross no border, int64 (runs + 1,).

    `places` holds the first piece of each item, and the end of the last item.
    """
    first_piece = places.tolist()
    cuts = [0]
    for border in borders[1:].tolist():
        while cuts[-1] < border:
            cuts.append(min(_fitting(first_piece, cuts[-1], room), border))
    return np.array(cuts, dtype=np.int64)


def _fitting(first_piece: list[int], first: int, room: int) -> int:
    """Return the end of the longest run of items from `first` on that fits into `room` pieces."""
    end = first_piece[first] + room
    return bisect_right(first_piece, end, lo=first) - 1


def _overlapping(places: np.ndarray, borders: np.ndarray, room: int) -> Ranges:
    """Return windows over the items of each part between borders.

    A window begins half a window after the window before it. The last window of a part begins early enough to be full.
    """
    first_piece = places.tolist()
    begins = []
    ends = []
    for start, border in pairwise(borders.tolist()):
        first = start
        while first_piece[border] - first_piece[first] > room:
            end = _fitting(first_piece, first, room)
            begins.append(first)
            ends.append(end)
            half = _fitting(first_piece, first, room // 2)
            first = min(max(half, first + 1), end)
        begins.append(bisect_left(first_piece, first_piece[border] - room, lo=start))
        ends.append(border)
    return Ranges(np.array(begins, dtype=np.int64), np.array(ends, dtype=np.int64))


def _widened(words: np.ndarray, documents: np.ndarray, own: Ranges, room: int) -> Ranges:
    """Extend each window on both sides by whole words of its document, as far as there is room."""
    borders = words[documents]  # first piece of each document
    document = np.searchsorted(documents, own.first, side="right") - 1
    start = borders[document]
    stop = borders[document + 1]
    first_piece = words[own.first]
    spare = room - (words[own.end] - first_piece)
    latest = np.minimum(first_piece - spare // 2, stop - room)
    begin = np.maximum(start, latest)
    close = np.minimum(begin + room, stop)
    first = np.searchsorted(words, begin)
    end = np.searchsorted(words, close, side="right") - 1
    return Ranges(first, end)


def _best(words: np.ndarray, own: Ranges, shown: Ranges) -> np.ndarray:
    """Return the window in which each word has most context, int64 (words,); among equal windows, the first.

    A window may score the words of `own`, and shows those of `shown`.
    """
    counts = own.end - own.first
    window = np.repeat(np.arange(len(counts)), counts)
    word = blocks.ranges(own.first, counts)
    first_shown = words[shown.first]
    end_shown = words[shown.end]
    before = words[word] - first_shown[window]
    after = end_shown[window] - words[word + 1]
    context = np.minimum(before, after)
    order = np.lexsort((window, -context, word))  # by word, then by context
    _, best = np.unique(word[order], return_index=True)
    best_windows: np.ndarray = window[order][best]
    return best_windows


def encoded_words(
    table: pa.Table,
    encoder: Encoder,
    recipe: Recipe,
    labels: np.ndarray | None,
    *,
    training: bool,
) -> Features:
    """Encode the sentences as windows. A window is a unit; its loss is a sum over the words that are scored in it.

    `labels` are the numbers of the words' labels, int64 (words,). A unit counts as many units of the batch size as
    sentences begin in it. The owner of a sequence is the row of the first word that is scored in it. The guide `word`
    holds at each token the number of the word that is scored there, counted over all rows, or -1.
    """
    room = problem.free_pieces(encoder, recipe, pair=False)
    pieces, limits = _pieces_of_words(table, encoder, recipe.context, room)
    shown = windows(limits, recipe.context, room, training=training)
    begins = limits.words[shown.first]
    part = Part(pieces, begins, limits.words[shown.end] - begins)
    joined = encoder.frame.join(part)
    in_window = limits.words[:-1] - begins[shown.scored_in]
    places = joined.first[shown.scored_in] + in_window

    def at_places(values: np.ndarray, elsewhere: int) -> np.ndarray:
        tokens = np.full(len(joined.sequences.tokens), elsewhere, dtype=np.int64)
        tokens[places] = values
        return tokens

    count = len(shown.first)
    begins_in = shown.scored_in[limits.sentences[:-1]]  # the window in which each sentence begins
    _, first_scored = np.unique(shown.scored_in, return_index=True)
    return Features.of(
        joined.sequences,
        owner=np.searchsorted(limits.sentences, first_scored, side="right") - 1,
        token_targets={} if labels is None else {"label": at_places(labels, arrays.IGNORED)},
        guides={"word": at_places(np.arange(len(places)), -1)},
        counts=np.bincount(begins_in, minlength=count),
        loss_weights=np.bincount(shown.scored_in, minlength=count),
    )


def sentences_of_words(table: pa.Table, features: Features) -> tuple[np.ndarray, Features]:
    """Return the token of each word, int64 (words,), and the words as one sequence per sentence."""
    starts = list_starts(table.column("words"))
    count = int(starts[-1])
    tokens = word_tokens(features, count)
    words = Sequences(np.arange(count, dtype=np.int32), np.zeros(count, dtype=np.int8), starts)
    targets = {name: np.asarray(values[tokens]) for name, values in features.token_targets.items()}
    sentences = Features.of(
        words,
        token_targets=targets,
        guides={"word": np.arange(count, dtype=np.int64)},
        loss_weights=np.diff(starts),
    )
    return tokens, sentences


def word_tokens(features: Features, words: int) -> np.ndarray:
    """Return the token at which each word is scored, int64 (words,)."""
    word = np.asarray(features.guides["word"])
    tokens = np.flatnonzero(word >= 0)
    order = np.argsort(word[tokens], kind="stable")
    tokens = tokens[order]
    if not np.array_equal(word[tokens], np.arange(words)):
        raise PluginError(f"These features do not score each of the {words:,} words once: they are of other rows.")
    return tokens


def _pieces_of_words(
    table: pa.Table,
    encoder: Encoder,
    context: str,
    room: int,
) -> tuple[np.ndarray, Borders]:
    """Return the pieces of all words, int32 (pieces,), and the borders.

    A word without pieces gets the unknown token; a word of more than `room` pieces is cut.
    """
    sentences = list_starts(table.column("words"))
    documents = None
    if context != "sentence":
        if "document" not in table.column_names:
            raise RequestError(
                f"The context '{context}' needs to know where documents begin, and these rows do not say it (data sets "
                "on the hub seldom do): ask for --set context=sentence, or give files with document borders."
            )
        number = table.column("document").to_numpy()
        changes = np.flatnonzero(np.diff(number)) + 1
        documents = sentences[np.concatenate([[0], changes, [len(number)]])]
    texts = table.column("words").combine_chunks().flatten().dictionary_encode()
    distinct = encoder.words(texts.dictionary.to_pylist())
    distinct_of = texts.indices.to_numpy()  # the distinct word of each word
    counts = np.minimum(distinct.counts, room)[distinct_of]
    begins = distinct.starts[distinct_of]
    words = arrays.borders(np.maximum(counts, 1))
    pieces = np.full(words[-1], encoder.frame.unknown, dtype=np.int32)
    pieces[blocks.ranges(words[:-1], counts)] = distinct.tokens[blocks.ranges(begins, counts)]
    return pieces, Borders(words, sentences, documents)
