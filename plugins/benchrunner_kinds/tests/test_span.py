"""Span: windows over long contexts, the loss, what decodes to no answer, tuned thresholds, bad rows."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings, strategies as st

from benchrunner.data.rows import Rows
from benchrunner.errors import BadRows, DataError, RequestError
from benchrunner.features.arrays import Features
from benchrunner.features.flat_batch import collate
from benchrunner.features.tokenized_texts import Frame
from benchrunner.metrics import Metric
from benchrunner.parameters.recipes import Recipe
from benchrunner_devices.fixed_shapes import in_fixed_shape, multiple_of
from benchrunner_kinds.spans.span import Span
from benchrunner_kinds.spans.span_candidates import NONE, SCORE, Window, nbest
from benchrunner_kit.testing import TinyEncoder

CUT, MAYBE = Span(), Span(unanswerable=True)
CPU = torch.device("cpu")


def rows(*given: tuple[str, str, list[str]]) -> Rows:
    """Build rows of (question, context, answers); each answer stands at its first place in the context."""
    questions, contexts, answers = zip(*given, strict=True)
    starts = [list(map(context.find, texts)) for _, context, texts in given]
    columns: dict[str, Any] = {"id": [f"q{at}" for at in range(len(given))], "question": questions, "context": contexts}
    columns["answers"] = pa.array(answers, pa.list_(pa.string()))
    columns["starts"] = pa.array(starts, pa.list_(pa.int64()))
    return Rows(pa.table(columns), "f.json")


def table(*given: tuple[str, str, list[str]], problem: Span = MAYBE) -> pa.Table:
    return problem.check(rows(*given), labelled=True)


def encoded(data: pa.Table, *, length: int = 64, stride: int = 128, problem: Span = MAYBE) -> Features:
    return problem.encode(data, TinyEncoder(), Recipe(max_length=length, stride=stride), training=False)


def scores_of_gold(features: Features) -> np.ndarray:
    """Return the outputs of a head that knows the answers: 1 at each window's target, [CLS] where it has no answer."""
    outputs = np.zeros((len(features.tokens), 2), dtype=np.float32)
    for at, name in enumerate(("start", "end")):
        outputs[features.starts[:-1] + features.targets[name], at] = 1.0
    return outputs


WORDS = st.lists(st.sampled_from(["oak", "elm", "ash", "fir"]), min_size=1, max_size=60)


@given(words=WORDS, question=WORDS, length=st.integers(20, 64), stride=st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_windows_cover_each_piece_in_its_order(words: list[str], question: list[str], length: int, stride: int) -> None:
    asked = question[: min(10, (length - 3) // 2)]  # a question takes half of a sequence at most
    features = encoded(table((" ".join(asked), " ".join(words), [])), length=length, stride=stride)
    guides, covered = features.guides, set[int]()
    assert features.lengths.max() <= length
    for at in range(features.units):
        begin, count, place = (int(guides[name][at]) for name in ("begin", "count", "place"))
        covered |= set(range(begin, begin + count))
        assert place == features.starts[at] + 1 + len(asked) + 1, "behind [CLS], question and [SEP]"
        known = [4 + _number(word) for word in words[begin : begin + count]]
        assert features.tokens[place : place + count].tolist() == known
        assert set(features.segments[place : features.starts[at + 1]].tolist()) == {1}
    assert covered == set(range(len(words)))


def _number(word: str) -> int:
    return TinyEncoder().pieces([word]).tokens[0] - 4


def window_with_most_context(features: Features, piece: int) -> int:
    """Return the window in which a piece is farthest from the nearer edge; among equals the longest, then the first."""
    begin, count = features.guides["begin"], features.guides["count"]
    context = np.minimum(piece - begin, begin + count - 1 - piece) + 0.01 * count
    return int(context.argmax())


@given(words=WORDS, length=st.integers(16, 64), stride=st.integers(1, 40), draw=st.data())
@settings(max_examples=60, deadline=None)
def test_gold_comes_back_from_its_best_window(words: list[str], length: int, stride: int, draw: st.DataObject) -> None:
    """Every word is different, so that an answer has one place; an answer is short enough for one window."""
    context = " ".join(f"{word}{at}" for at, word in enumerate(words))
    first = draw.draw(st.integers(0, len(words) - 1))
    answer = " ".join(context.split()[first : first + 4])
    features = encoded(data := table(("which", context, [answer])), length=length, stride=stride)
    gathered = MAYBE.gather(scores_of_gold(features), features, data)
    if features.targets["start"][window_with_most_context(features, first)] > 0:
        best = gathered.copy()
        best[:, NONE, SCORE] = -1.0
        assert MAYBE.decode(best, data, {"tau": 0.0}) == [answer]
    else:
        assert stride > length - 4 - 6, "only windows that overlap by less than 6 words lose an answer of 4 words"


def test_narrow_overlaps_lose_an_answer_across_an_edge() -> None:
    """Word 9 has most context in the window of words 0 to 11, which does not hold word 12."""
    context = " ".join(f"oak{at}" for at in range(13))
    data = table(("which", context, ["oak9 oak10 oak11 oak12"]))
    features = encoded(data, length=16, stride=7)
    assert features.guides["begin"].tolist() == [0, 7] and features.targets["start"].tolist() == [0, 5]
    gathered = MAYBE.gather(scores_of_gold(features), features, data)
    gathered[:, NONE, SCORE] = -1.0
    assert MAYBE.decode(gathered, data, {"tau": 0.0}) == ["oak10 oak11 oak12"]


def test_a_window_without_the_answer_has_none_as_its_target() -> None:
    context = " ".join(f"w{at}" for at in range(30))
    features = encoded(table(("q", context, ["w20"])), length=14, stride=10)
    inside = [
        begin <= 20 < begin + count for begin, count in zip(*map(features.guides.get, ("begin", "count")), strict=False)
    ]
    assert [start > 0 for start in features.targets["start"]] == inside and any(inside) and not all(inside)


class BareEncoder(TinyEncoder):
    """An encoder without special tokens whose last token stands for "no answer", like GPT-2."""

    summary_place = "last"
    frame = Frame(before=(), between=(), after=(), unknown=3)  # type: ignore[assignment]


class EndEncoder(TinyEncoder):
    """An encoder with its special tokens at the end, like XLNet."""

    summary_place = "last"
    frame = Frame(before=(), between=(2,), after=(2, 1), unknown=3)  # type: ignore[assignment]


@pytest.mark.parametrize("encoder", [BareEncoder(), EndEncoder()])
def test_the_last_token_can_stand_for_no_answer(encoder: TinyEncoder) -> None:
    data = table(("who", "a b c d e", ["c d"]), ("who", "a b c", []))
    features = MAYBE.encode(data, encoder, Recipe(max_length=64), training=False)
    size = encoder.frame.size(pair=True)
    assert features.lengths.tolist() == [1 + 5 + size, 1 + 3 + size]
    place = 1 + len(encoder.frame.between)
    assert features.targets["start"].tolist() == [place + 2, 3 + size]
    assert features.targets["end"].tolist() == [place + 3, 3 + size]
    outputs = scores_of_gold(features)
    assert MAYBE.gather(outputs, features, data)[:, NONE, SCORE].tolist() == [0.0, 2.0]
    outputs[features.starts[1:] - 1] -= 0.5
    answers = MAYBE.gather(outputs, features, data)
    assert MAYBE.decode(answers, data, {"tau": 0.0}) == ["c d", ""]
    batch = collate(features, np.arange(2), CPU)
    perfect = torch.from_numpy(100 * scores_of_gold(features))[batch.feature_positions]
    assert MAYBE.loss(perfect, batch).item() == pytest.approx(0, abs=1e-6)


def test_the_token_of_no_answer_is_no_answer_by_itself() -> None:
    data = table(("who", "a b c", []))
    features = MAYBE.encode(data, BareEncoder(), Recipe(max_length=64), training=False)
    spans = MAYBE.gather(scores_of_gold(features), features, data)[0]
    kept = [tuple(span) for span in spans[1:] if np.isfinite(span[SCORE])]
    assert (4.0, 5.0, 2.0) not in kept and (2.0, 5.0, 1.0) in kept
    assert spans[NONE, SCORE] == 2.0 and len(kept) == 5


def test_a_question_longer_than_allowed_loses_its_end() -> None:
    problem = Span(max_question=3)
    features = encoded(table(("a b c d e", "x y", ["x"]), problem=problem), problem=problem)
    assert features.lengths.tolist() == [1 + 3 + 1 + 2 + 1]


def test_a_question_takes_half_at_most_and_tiny_lengths_fail() -> None:
    data = table(("a b c d e", "x y", ["x"]))
    assert encoded(data, length=9).lengths.tolist() == [1 + 3 + 1 + 2 + 1]
    assert encoded(data, length=5).lengths.tolist() == [5, 5], "one word of each, and a window for each of the context"
    with pytest.raises(RequestError, match="max_length must be at least 5"):
        encoded(data, length=4)


def test_a_text_without_a_piece_has_no_span() -> None:
    none = np.empty(0, dtype=np.float32)
    best = nbest([Window(0, none, none, 1.5)], np.empty((0, 2), dtype=np.int32), size=2, longest=3)
    assert best[NONE, SCORE] == 1.5 and not np.isfinite(best[1:, SCORE]).any()
    data = table(("q", "\x00 \x01", []), problem=MAYBE)
    assert MAYBE.decode(best[None], data, {"tau": -np.inf}) == [""]
    assert CUT.decode(best[None], data, {}) == [""]


def outputs(*margins: float) -> np.ndarray:
    """Return one span per question, of the first character, whose score beats "no answer" by the margin."""
    arrays = np.full((len(margins), 3, 3), -np.inf, dtype=np.float32)
    arrays[:, NONE] = (0, 0, 1.0)
    for question, margin in enumerate(margins):
        arrays[question, 1] = (0, 1, 1.0 + margin)
    return arrays


def exactly(gold: list[str], answer: str) -> float:
    return 100.0 * (answer in (gold or [""]))


EXACT = Metric("exact", lambda gold, said: 0.0, per_row=exactly)
WRONG = Metric(
    "wrong", lambda gold, said: 0.0, per_row=lambda gold, said: 1 - exactly(gold, said), lower_is_better=True
)


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=30))
@settings(deadline=None)
def test_the_tuned_threshold_is_as_good_as_the_best_of_all(given: list[tuple[int, bool]]) -> None:
    """Margins have many ties; a right answer is 'a', and half of the questions have none."""
    data = table(*(("q", "a b", ["a"] if answerable else []) for _, answerable in given))
    raw, gold = outputs(*(float(margin) for margin, _ in given)), MAYBE.gold(data)
    assert gold is not None

    def total(tau: float) -> float:
        answers = MAYBE.decode(raw, data, {"tau": tau})
        return sum(exactly(*pair) for pair in zip(gold, answers, strict=True))

    tuned = MAYBE.tune(raw, data, EXACT)
    assert MAYBE.tune(raw, data, WRONG) == tuned
    assert total(tuned["tau"]) == max(total(cut / 2) for cut in range(-9, 10))


def test_tuning_ignores_a_question_without_any_span() -> None:
    data = table(("q", "a b", ["a"]), ("r", "a b", []), ("s", "\x00 \x01", []))
    raw = outputs(-1.0, -3.0, 0.0)
    raw[2, 1:, SCORE] = -np.inf
    assert MAYBE.tune(raw, data, EXACT) == {"tau": -2.0}
    assert MAYBE.tune(raw[2:], data.slice(2), EXACT) == {}


def test_rows_whose_answers_are_all_missing_are_not_labelled() -> None:
    made = rows(("q", "oak", ["oak"]), ("r", "elm", ["elm"])).table.to_pydict()
    bare = CUT.check(Rows(pa.table({**made, "answers": [None] * 2, "starts": [None] * 2}), "f.json"), labelled=False)
    assert CUT.gold(bare) is None and "label" not in encoded(bare).targets
    with pytest.raises(BadRows, match="row 1: 'q1' is not labelled"):
        CUT.check(Rows(pa.table({**made, "answers": [["oak"], None]}), "f.json"), labelled=False)


def test_how_much_of_a_question_is_read_is_part_of_the_identity() -> None:
    assert Span(max_question=8).identity() != CUT.identity() == MAYBE.identity()


def test_answerable_problems_always_answer_and_tune_nothing() -> None:
    data = table(("q", "a b", ["a"]), problem=CUT)
    assert CUT.decode(outputs(-5.0), data, CUT.decoding) == ["a"]
    assert not CUT.tunes and CUT.tune(outputs(-5.0), data, EXACT) == {}


def test_the_probability_of_none_falls_as_the_margin_grows() -> None:
    data = table(*[("q", "a b", [])] * 4)
    probabilities = MAYBE.extra_figures(outputs(-1e4, -1.0, 0.0, 3.0), data, {"tau": 7.0})["no_answer"]
    assert probabilities == pytest.approx([1.0, 0.7310586, 0.5, 0.0474259])


def test_majority_is_no_answer_if_allowed_or_the_whole_context() -> None:
    without, within = table(("q", "a b", []), ("r", "c", ["c"])), table(("q", "a b", ["a"]))
    assert MAYBE.decode(MAYBE.majority_output(without)[None].repeat(2, 0), without, MAYBE.decoding) == ["", ""]
    assert CUT.decode(CUT.majority_output(within)[None], within, CUT.decoding) == ["a b"]
    assert MAYBE.decode(MAYBE.majority_output(within)[None], within, MAYBE.decoding) == ["a b"]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"starts": [[1]]}, r"'q0' has the answer 'oak' at character 1, where the context has 'ak '"),
    ({"starts": [[-3]]}, "at character -3"),
    ({"starts": [[0, 4]]}, "has 1 answers and 2 places"),
    ({"answers": [[""]]}, "expected a text"),
    ({"answers": [[None]]}, "expected a text"),
    ({"answers": [None]}, "is not labelled"),
    ({"answers": [[]], "starts": [[]]}, "'q0' has no answer"),
    ({"context": [" \t"]}, "'q0' has an empty context"),
    ({"context": ["oak" + " " * 2**24]}, "a context of 16,777,219 characters"),
    ({"question": [None]}, "must be texts"),
]


@pytest.mark.parametrize(("change", "reason"), BAD)
def test_a_row_that_contradicts_itself_is_named(change: dict[str, Any], reason: str) -> None:
    good = rows(("q", "oak tree", ["oak"])).table.to_pydict()
    with pytest.raises(BadRows, match=rf"f\.json, row 0: .*{reason}"):
        CUT.check(Rows(pa.table({**good, **change}), "f.json"), labelled=True)


def test_an_id_that_stands_twice_is_named_with_its_other_place() -> None:
    made = rows(("q", "oak", ["oak"]), ("q", "elm", ["elm"]))
    twice = made.table.set_column(0, "id", pa.array(["same", "same"]))
    with pytest.raises(BadRows, match="row 1: the id 'same' stands at row 0 already") as bad:
        CUT.check(Rows(twice, "f.json"), labelled=True)
    assert set(bad.value.rows) == {1}
    kept = Rows(twice, "f.json").without(bad.value.rows)
    assert kept.table.column("context").to_pylist() == ["oak"]
    assert kept.notes == ("left out 1 bad row(s), as asked: f.json, row 1, the id 'same' stands at row 0 already",)


def test_text_of_a_bad_row_is_escaped_and_shortened_in_the_error() -> None:
    good = rows(("q", "oak tree", ["oak"])).table.to_pydict()
    bad = {**good, "id": ["\x1b[31m\n"], "answers": [["elm" * 100]]}
    with pytest.raises(BadRows, match=r"row 0: '\\x1b\[31m\\n' has the answer 'elm(elm)*e?l?\.\.\.' at character 0"):
        CUT.check(Rows(pa.table(bad), "f.json"), labelled=True)


def test_missing_columns_or_wrong_column_types_are_an_error() -> None:
    with pytest.raises(DataError, match="no column context, answers, starts; found id, question"):
        CUT.check(Rows(pa.table({"id": ["a"], "question": ["b"]}), "f.json"), labelled=True)
    good = rows(("q", "oak tree", ["oak"])).table
    with pytest.raises(DataError, match="a column is of the wrong kind"):
        CUT.check(Rows(good.set_column(4, "starts", pa.array([["here"]])), "f.json"), labelled=True)


def test_the_loss_averages_start_and_end_over_whole_sequences() -> None:
    data = table(("q", "oak elm ash", ["elm ash"]), ("what is it", "fir", ["fir"]), ("q r", "oak", []))
    features = encoded(data)
    batch = collate(features, np.array([2, 0, 1]), CPU, multiple=16)
    drawn = torch.randn(len(batch.tokens), 2, generator=torch.Generator().manual_seed(0))
    wanted = torch.zeros(())
    for place, unit in enumerate([2, 0, 1]):
        sequence = int(batch.restore[place])
        part = drawn[int(batch.starts[sequence]) : int(batch.starts[sequence + 1])]
        for at, name in enumerate(("start", "end")):
            right = torch.tensor(features.targets[name][unit])
            wanted = wanted + torch.nn.functional.cross_entropy(part[:, at][None], right[None]) / 2
    torch.testing.assert_close(CUT.loss(drawn, batch), wanted)


def test_the_loss_of_a_batch_of_fixed_shape_is_the_same() -> None:
    """Of such a batch, and on a GPU, all sequences are padded together."""
    words = [" ".join(["old"] * count) + " house" for count in (3, 9, 3, 17)]
    features = encoded(table(*(("Which?", context, ["house"]) for context in words), problem=CUT), problem=CUT)
    units, tokens = np.arange(features.units), len(features.tokens)
    filled = collate(features, units, CPU, multiple=multiple_of(tokens))
    batches = [collate(features, units, CPU), in_fixed_shape(filled, int(features.lengths.max()))]
    drawn = torch.randn(len(filled.tokens), 2, generator=torch.Generator().manual_seed(1), dtype=torch.float32)
    results = []
    for batch in batches:
        outputs = drawn[: len(batch.tokens)].clone().requires_grad_()
        loss = CUT.loss(outputs, batch)
        results.append((loss, torch.autograd.grad(loss, outputs)[0][:tokens]))
    assert len(batches[1].tokens) > tokens
    for fixed, expected in zip(*results[::-1], strict=True):
        torch.testing.assert_close(fixed, expected)
