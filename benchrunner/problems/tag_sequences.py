"""Encode sentences of words: windows of pieces, with a target at the piece at which each word is scored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchrunner.errors import PluginError, RequestError
from benchrunner.features.arrays import IGNORED, Features, Sequences
from benchrunner.features.blocks import ranges
from benchrunner.features.pieces import Part
from benchrunner.problems.tag_rows import sentence_starts
from benchrunner.problems.tag_windows import Borders, windows

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.parameters.recipes import Recipe


def encoded_words(
    table: pa.Table, encoder: Encoder, recipe: Recipe, labels: np.ndarray | None, *, training: bool
) -> Features:
    """Encode the sentences as windows. A window is a unit; its loss is a sum over the words that are scored in it.

    `labels` are the numbers of the words' labels, int64 (words,). A unit counts as many units of the batch size as
    sentences begin in it. The owner of a sequence is the row of the first word that is scored in it. The guide `word`
    holds at each token the number of the word that is scored there, counted over all rows, or -1.
    """
    room = min(recipe.max_length, encoder.max_length) - encoder.frame.size(pair=False)
    if room < 1:
        raise RequestError(f"A max_length of {recipe.max_length} leaves no room beside the special tokens.")
    pieces, borders = _pieces_of_words(table, encoder, recipe.context, room)
    shown = windows(borders, recipe.context, room, training=training)
    begins = borders.words[shown.first]
    joined = encoder.frame.join(Part(pieces, begins, borders.words[shown.end] - begins))
    places = joined.first[shown.scored_in] + borders.words[:-1] - begins[shown.scored_in]

    def at_places(values: np.ndarray, elsewhere: int) -> np.ndarray:
        tokens = np.full(len(joined.sequences.tokens), elsewhere, dtype=np.int64)
        tokens[places] = values
        return tokens

    count = len(shown.first)
    _, first_scored = np.unique(shown.scored_in, return_index=True)
    return Features.of(
        joined.sequences,
        owner=np.searchsorted(borders.sentences, first_scored, side="right") - 1,
        token_targets={} if labels is None else {"label": at_places(labels, IGNORED)},
        guides={"word": at_places(np.arange(len(places)), -1)},
        counts=np.bincount(shown.scored_in[borders.sentences[:-1]], minlength=count),
        loss_weights=np.bincount(shown.scored_in, minlength=count),
    )


def sentences_of_words(table: pa.Table, features: Features) -> tuple[np.ndarray, Features]:
    """Return the token of each word, int64 (words,), and the words as one sequence per sentence."""
    starts = sentence_starts(table)
    count = int(starts[-1])
    tokens = word_tokens(features, count)
    words = Sequences(np.arange(count, dtype=np.int32), np.zeros(count, dtype=np.int8), starts)
    sentences = Features.of(
        words,
        token_targets={name: np.asarray(values[tokens]) for name, values in features.token_targets.items()},
        guides={"word": np.arange(count, dtype=np.int64)},
        loss_weights=np.diff(starts),
    )
    return tokens, sentences


def word_tokens(features: Features, words: int) -> np.ndarray:
    """Return the token at which each word is scored, int64 (words,)."""
    word = np.asarray(features.guides["word"])
    tokens = np.flatnonzero(word >= 0)
    order = np.argsort(word[tokens], kind="stable")
    if not np.array_equal(word[tokens[order]], np.arange(words)):
        raise PluginError(f"These features do not score each of the {words:,} words once: they are of other rows.")
    return np.asarray(tokens[order])


def _pieces_of_words(table: pa.Table, encoder: Encoder, context: str, room: int) -> tuple[np.ndarray, Borders]:
    """Return the pieces of all words, int32 (pieces,), and the borders.

    A word without pieces gets the unknown token; a word of more than `room` pieces is cut.
    """
    sentences, documents = sentence_starts(table), None
    if context != "sentence":
        if "document" not in table.column_names:
            raise RequestError(
                f"The context '{context}' needs to know where documents begin, and these rows do not say it (data sets "
                "on the hub seldom do): ask for --context sentence, or give files with document borders."
            )
        number = table.column("document").to_numpy()
        documents = sentences[np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1, [len(number)]])]
    texts = table.column("words").combine_chunks().flatten().dictionary_encode()
    distinct, distinct_of = encoder.words(texts.dictionary.to_pylist()), texts.indices.to_numpy()
    counts, begins = np.minimum(distinct.counts, room)[distinct_of], distinct.starts[:-1][distinct_of]
    words = np.concatenate([[0], np.cumsum(np.maximum(counts, 1), dtype=np.int64)])
    pieces = np.full(words[-1], encoder.frame.unknown, dtype=np.int32)
    pieces[ranges(words[:-1], counts)] = distinct.tokens[ranges(begins, counts)]
    return pieces, Borders(words, sentences, documents)
