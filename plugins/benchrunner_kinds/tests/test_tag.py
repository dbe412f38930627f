"""Tag: which words a sequence shows, in which sequence each word is scored, and the answers that come back."""

import itertools
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings, strategies as st

from benchrunner.backbones.encoder import Encoder
from benchrunner.data.rows import Rows
from benchrunner.errors import DataError, PluginError, RequestError
from benchrunner.features.arrays import IGNORED, Features
from benchrunner.features.flat_batch import FlatBatch, collate
from benchrunner.features.tokenized_texts import Frame, Pieces
from benchrunner.parameters.recipes import RECIPE_FIELDS, Recipe
from benchrunner_kinds.tags.tag import Tag
from benchrunner_kinds.tags.tag_windows import Borders, windows

TAG = Tag(("O", "B-X", "I-X"))
START, STOP, UNKNOWN = 1, 2, 3


CONTEXTS = st.sampled_from(RECIPE_FIELDS["context"].choices)


class Letters:
    """An encoder with a piece for every letter; it has what `Tag` needs and no model."""

    max_length = 64
    frame = Frame(before=(START,), between=(STOP,), after=(STOP,), unknown=UNKNOWN)

    def words(self, words: Sequence[str]) -> Pieces:
        letters = np.array([ord(letter) for word in words for letter in word], dtype=np.int32)
        spans = np.zeros((len(letters), 2), dtype=np.int32)
        return Pieces(letters, spans, np.cumsum([0, *map(len, words)], dtype=np.int64))


def table(sentences: Sequence[str], **columns: Any) -> pa.Table:
    return pa.table({"words": [sentence.split(" ") for sentence in sentences], **columns})


def encode(rows: pa.Table, *, training: bool = True, context: str = "sentence", max_length: int = 64) -> Features:
    recipe = Recipe(context=context, max_length=max_length)
    return TAG.encode(rows, cast(Encoder, Letters()), recipe, training=training)


def shown(features: Features) -> list[str]:
    """Return the letters of every sequence, with [ and ] around them."""
    signs = {START: "[", STOP: "]", UNKNOWN: "?"}
    text = [signs.get(token, chr(token)) for token in features.tokens.tolist()]
    return ["".join(text[start:end]) for start, end in itertools.pairwise(features.starts.tolist())]


def scored(features: Features) -> list[list[int]]:
    """Return the numbers of the words that each sequence scores."""
    word = features.guides["word"]
    sequences = [word[start:end] for start, end in itertools.pairwise(features.starts.tolist())]
    return [sequence[sequence >= 0].tolist() for sequence in sequences]


def test_only_the_first_piece_of_a_word_has_a_target() -> None:
    features = encode(table(["ab c", "d"], labels=[["B-X", "O"], ["I-X"]]))
    assert shown(features) == ["[abc]", "[d]"]
    no = IGNORED
    assert features.token_targets["label"].tolist() == [no, 1, no, 0, no, no, 2, no]
    assert features.guides["word"].tolist() == [-1, 0, -1, 1, -1, -1, 2, -1]
    assert (features.groups.tolist(), features.owner.tolist()) == ([0, 1, 2], [0, 1])
    assert features.loss_weights is not None and features.loss_weights.tolist() == [2, 1]
    assert features.batch_counts("sentences").tolist() == [1, 1]


def test_a_word_without_pieces_is_the_unknown_one() -> None:
    assert shown(encode(pa.table({"words": [["a", "", "b"]]}))) == ["[a?b]"]


def test_training_packs_whole_sentences_of_one_document() -> None:
    rows = table(["aa", "bb cc", "d", "ee", "ff"], document=[7, 7, 7, 7, 8])
    features = encode(rows, context="document", max_length=8)
    assert shown(features) == ["[aabbcc]", "[dee]", "[ff]"]
    assert features.batch_counts("sentences").tolist() == [2, 2, 1]
    assert features.loss_weights is not None and features.loss_weights.tolist() == [3, 2, 1]
    assert features.owner.tolist() == [0, 2, 4]


def test_a_batch_counts_sequences_sentences_or_words() -> None:
    features = encode(
        table(["aa", "bb cc", "d", "ee", "ff"], document=[7, 7, 7, 7, 8]), context="document", max_length=8
    )
    counts = {unit: features.batch_counts(unit).tolist() for unit in RECIPE_FIELDS["batch_unit"].choices}
    assert counts == {"sentences": [2, 2, 1], "sequences": [1, 1, 1], "words": [3, 2, 1]}


def test_recurrent_heads_count_words_of_sentences() -> None:
    rows = table(["aa", "bb cc", "d", "ee", "ff"], document=[7, 7, 7, 7, 8])
    _, sentences = TAG.recurrent_sequences(encode(rows, context="document", max_length=8), rows)
    counts = {unit: sentences.batch_counts(unit).tolist() for unit in RECIPE_FIELDS["batch_unit"].choices}
    assert counts == {"sentences": [1] * 5, "sequences": [1] * 5, "words": [1, 2, 1, 1, 1]}


def test_a_sentence_longer_than_a_window_counts_where_it_begins() -> None:
    rows = table(["a bb cc dd", "e"], document=[0, 0])
    features = encode(rows, context="document", max_length=7)
    assert shown(features) == ["[abbcc]", "[dde]"]
    assert features.batch_counts("sentences").tolist() == [1, 1]
    assert features.loss_weights is not None and features.loss_weights.tolist() == [3, 2]
    assert features.owner.tolist() == [0, 0]
    alone = encode(rows, context="sentence", max_length=7)
    assert (shown(alone), alone.batch_counts("sentences").tolist()) == (["[abbcc]", "[dd]", "[e]"], [1, 0, 1])


@pytest.mark.parametrize("context", RECIPE_FIELDS["context"].choices)
@pytest.mark.parametrize("training", [True, False])
def test_a_word_longer_than_a_window_is_cut_and_scored_at_start(context: str, training: bool) -> None:
    rows = table(["a bcdefgh i"], document=[0])
    features = encode(rows, context=context, max_length=5, training=training)
    assert shown(features) == ["[a]", "[bcd]", "[i]"]
    assert scored(features) == [[0], [1], [2]]


def test_prediction_windows_overlap_by_half_and_use_most_context() -> None:
    features = encode(
        table(["a b c d", "e f g h i"], document=[0, 0]), context="document", max_length=6, training=False
    )
    assert shown(features) == ["[abcd]", "[cdef]", "[efgh]", "[fghi]"]
    # The third and the fourth window both show one letter on the poorer side of g: the first of them scores it.
    assert scored(features) == [[0, 1, 2], [3, 4], [5, 6], [7, 8]]


def test_context_window_centres_each_sentence_in_its_own_window() -> None:
    rows = table(["a b", "c d", "e", "f g", "h"], document=[0, 0, 0, 0, 1])
    features = encode(rows, context="window", max_length=7)
    assert shown(features) == ["[abcde]", "[bcdef]", "[cdefg]", "[cdefg]", "[h]"]
    assert scored(features) == [[0, 1], [2, 3], [4], [5, 6], [7]]
    assert features.owner.tolist() == [0, 1, 2, 3, 4]


sizes = st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=12), min_size=1, max_size=8)


@settings(max_examples=300, deadline=None)
@given(
    sizes=sizes,
    draw=st.data(),
    room=st.integers(9, 30),
    context=CONTEXTS,
    training=st.booleans(),
)
def test_each_word_is_scored_once_in_its_window_of_most_context(
    sizes: list[list[int]], draw: st.DataObject, room: int, context: str, training: bool
) -> None:
    words = np.cumsum([0, *itertools.chain.from_iterable(sizes)])
    sentences = np.cumsum([0, *map(len, sizes)])
    inner = draw.draw(st.lists(st.integers(1, len(sizes)), unique=True).map(sorted))
    documents = sentences[[0, *(border for border in inner if border < len(sizes)), len(sizes)]]
    shown = windows(Borders(words, sentences, documents), context, room, training=training)
    first, end = shown.first.tolist(), shown.end.tolist()
    whole = sentences if context == "sentence" else documents
    sentence_of = np.searchsorted(sentences, np.arange(len(words) - 1), side="right") - 1

    def inside(borders: np.ndarray, window: int) -> bool:
        return bool(np.searchsorted(borders, first[window], side="right") == np.searchsorted(borders, end[window]))

    def context_of(window: int, word: int) -> int:
        return int(min(words[word] - words[first[window]], words[end[window]] - words[word + 1]))

    assert len(shown.scored_in) == len(words) - 1
    assert set(shown.scored_in.tolist()) == set(range(len(first)))
    for window in range(len(first)):
        assert words[end[window]] - words[first[window]] <= room
        assert inside(whole, window)
    for word, window in enumerate(shown.scored_in.tolist()):
        assert first[window] <= word < end[window]
        showing = [number for number in range(len(first)) if first[number] <= word < end[number]]
        if context != "window":
            assert training or context_of(window, word) == max(context_of(number, word) for number in showing)
            assert not training or showing == [window]
        start, stop = sentences[sentence_of[word]], sentences[sentence_of[word] + 1]
        if words[stop] - words[start] <= room and (training or context != "document"):
            assert first[window] <= start and stop <= end[window], "a sentence that fits is not whole"
            assert set(shown.scored_in[start:stop].tolist()) == {window}


@settings(max_examples=200, deadline=None)
@given(sizes=sizes, room=st.integers(110, 200))
def test_packing_leaves_no_room_for_the_next_sentence(sizes: list[list[int]], room: int) -> None:
    words = np.cumsum([0, *itertools.chain.from_iterable(sizes)])
    sentences = np.cumsum([0, *map(len, sizes)])
    shown = windows(Borders(words, sentences, sentences[[0, -1]]), "document", room, training=True)
    for first, end in zip(shown.first[:-1].tolist(), shown.end[:-1].tolist(), strict=True):
        following = sentences[np.searchsorted(sentences, end) + 1]
        assert words[following] - words[first] > room


texts = st.lists(st.lists(st.text("abc", max_size=12), min_size=1, max_size=9), min_size=1, max_size=6)


@settings(max_examples=100, deadline=None)
@given(
    sentences=texts,
    context=CONTEXTS,
    max_length=st.integers(3, 20),
    training=st.booleans(),
)
def test_the_first_piece_answers_it(sentences: list[list[str]], context: str, max_length: int, training: bool) -> None:
    labels = [np.array(TAG.labels)[np.char.str_len(sentence) % 3].tolist() for sentence in sentences]
    rows = pa.table({"words": sentences, "labels": labels, "document": [at // 2 for at in range(len(sentences))]})
    features = encode(rows, context=context, max_length=max_length, training=training)
    outputs = np.eye(3, dtype=np.float32)[np.maximum(features.token_targets["label"], 0)]
    gathered = TAG.gather(outputs, features, rows)
    assert gathered.shape == (TAG.output_count(rows), 3)
    assert TAG.decode(gathered, rows, {}) == TAG.gold(rows) == labels
    assert features.batch_counts("sentences").sum() == len(sentences)
    assert features.loss_weight(np.arange(features.units)) == TAG.output_count(rows)
    places, sequences = TAG.recurrent_sequences(features, rows)
    assert [features.guides["word"][place] for place in places] == list(range(TAG.output_count(rows)))
    assert sequences.lengths.tolist() == [len(sentence) for sentence in sentences]
    assert TAG.decode(TAG.gather(outputs[places], sequences, rows), rows, {}) == labels
    assert sequences.token_targets["label"].tolist() == [TAG.labels.index(label) for row in labels for label in row]


def test_part_of_a_table_is_encoded_as_that_part() -> None:
    rows = table(["a b", "c", "d e f"], labels=[["O", "O"], ["B-X"], ["O", "B-X", "I-X"]], document=[0, 0, 1])
    part = rows.slice(1)
    features = encode(pa.concat_tables([part.slice(0, 1), part.slice(1)]), context="document")
    assert shown(features) == ["[c]", "[def]"]
    assert features.guides["word"].max() == 3


def test_features_of_other_rows_are_refused() -> None:
    features = encode(table(["a b"]))
    with pytest.raises(PluginError, match="do not score each of the 3 words once"):
        TAG.gather(np.zeros((4, 3), dtype=np.float32), features, table(["a b c"]))


def test_the_loss_sums_over_words_and_training_takes_the_mean() -> None:
    rows = table(["ab c", "d"], labels=[["B-X", "O"], ["I-X"]])
    features = encode(rows)
    batch: FlatBatch = collate(features, np.array([1, 0]), torch.device("cpu"), multiple=16)
    outputs = torch.randn(len(batch.tokens), 3, generator=torch.Generator().manual_seed(0))
    words = {ord("a"): 1, ord("c"): 0, ord("d"): 2}
    expected = sum(
        float(-torch.log_softmax(outputs[at], 0)[words[token]])
        for at, token in enumerate(batch.tokens.tolist())
        if token in words
    )
    assert TAG.loss(outputs, batch).item() == pytest.approx(expected, rel=1e-6)
    assert features.loss_weight(np.array([1, 0])) == 3


@pytest.mark.parametrize("context", ["document", "window"])
def test_without_documents_only_the_sentence_itself_is_context(context: str) -> None:
    with pytest.raises(RequestError, match=f"The context '{context}' needs to know .* --set context=sentence"):
        encode(table(["a"]), context=context)


def test_a_sequence_must_have_room_for_a_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Letters, "max_length", 2)
    with pytest.raises(RequestError, match="leaves no room beside the special tokens"):
        encode(table(["a"]))


def checked(columns: dict[str, Any], *, labelled: bool = True) -> pa.Table:
    return TAG.check(Rows(pa.table(columns), "some.txt", lines=[1, 5, 9]), labelled=labelled)


def test_further_lists_are_kept_and_other_columns_are_not() -> None:
    columns = {"words": [["a"], ["b", "c"]], "labels": [["O"], ["B-X", "I-X"]], "pos": [["N"], ["N", "V"]]}
    table = checked({**columns, "document": pa.array([0, 1], pa.int32()), "id": ["x", "y"]})
    assert table.column_names == ["words", "labels", "pos", "document"]
    assert table.schema.field("document").type == pa.int64()
    assert table.select(list(columns)).to_pydict() == columns


def test_rows_to_be_answered_may_lack_labels_or_have_them() -> None:
    assert checked({"words": [["a"]]}, labelled=False).column_names == ["words"]
    assert checked({"words": [["a"]], "labels": [None]}, labelled=False).column_names == ["words"]
    assert TAG.gold(checked({"words": [["a"]], "labels": [["O"]]}, labelled=False)) == [["O"]]
    assert TAG.gold(table(["a"])) is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"labels": [["O"]]}, r"some\.txt: columns words, labels are needed; found labels"),
        ({"words": [["a"]]}, r"some\.txt: columns words, labels are needed; found words"),
        ({"words": ["a"], "labels": [["O"]]}, r"some\.txt:1: column 'words' must be a list of one text or more, found"),
        ({"words": [["a"], []], "labels": [["O"], []]}, r"some\.txt:5: column 'words' must be a list of one text"),
        ({"words": [["a"], None], "labels": [["O"], []]}, r"some\.txt:5: column 'words' .* found None"),
        ({"words": [["a", None]], "labels": [["O", "O"]]}, r"some\.txt:1: column 'words' .* texts, found None"),
        ({"words": [["a"]], "labels": [["O", "O"]]}, r"some\.txt:1: column 'labels' has 2 entries for .* 1 words"),
        ({"words": [["a"]], "labels": [["B-Y"]]}, r"some\.txt:1: word 1 of this sentence has the label 'B-Y', which"),
        ({"words": [["a"]], "labels": [[None]]}, r"some\.txt:1: column 'labels' .* texts, found None"),
        ({"words": [["a"]], "labels": [[float("nan")]]}, r"some\.txt:1: column 'labels' .* texts, found nan"),
        ({"words": [["a"]], "labels": [None]}, r"some\.txt:1: column 'labels' must be a list"),
        ({"words": [["a"]], "labels": [["O"]], "pos": [["N", "V"]]}, r"some\.txt:1: column 'pos' has 2 entries"),
        ({"words": [["a"]], "labels": [["O"]], "document": [None]}, r"some\.txt:1: column 'document' must be a whole"),
        ({"words": [["a"]] * 3, "labels": [["O"]] * 3, "document": [0, 1, 0]}, r"some\.txt:9: document 0 continues"),
    ],
)
def test_a_bad_row_is_one_error_with_its_place(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        checked(columns)


def test_an_answer_is_written_with_spaces_and_read_again() -> None:
    answer = ["O", "B-X", "I-X"]
    assert TAG.parse(TAG.spell(answer)) == answer
    for text in ("", "  ", "O B-Y", "nan"):
        with pytest.raises(ValueError, match="a label for each word, with spaces between them, out of O, B-X, I-X"):
            TAG.parse(text)


def test_the_best_constant_is_the_most_frequent_label() -> None:
    assert TAG.majority_output(table(["a b c"], labels=[["I-X", "B-X", "I-X"]])).tolist() == [0, 0, 1]
    assert TAG.majority_output(table(["a b"], labels=[["I-X", "B-X"]])).tolist() == [0, 1, 0]
    assert TAG.is_constant([["O", "O"], ["O"]])
    assert not TAG.is_constant([["O", "O"], ["B-X"]])
    assert not TAG.is_constant([["O", "O"]])


def test_an_ensemble_answers_with_the_mean_probability() -> None:
    sure, torn = np.log(np.array([[0.8, 0.1, 0.1]])), np.log(np.array([[0.1, 0.45, 0.45]]))
    assert np.exp(TAG.average([sure, torn])) == pytest.approx(np.array([[0.45, 0.275, 0.275]]), rel=1e-5)
    assert TAG.average([sure]) is sure


@pytest.mark.parametrize("labels", [("O",), ("O", "O"), ("O", "B X"), ("O", "")])
def test_labels_are_different_words(labels: tuple[str, ...]) -> None:
    with pytest.raises(PluginError):
        Tag(labels)
