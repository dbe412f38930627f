"""Figures and text of conlleval beside the script's own outputs and independent implementations; IOB1 and IOB2."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from conll_samples import TAGS, WILD, conlleval_by_state, real_data, well_formed, workspace
from hypothesis import given, settings, strategies as st

from benchrunner import DataError, Rows, Score
from benchrunner_conll import CONLL2003, ConllEval, Corpus
from benchrunner_conll.conlleval import Evaluation, evaluate
from benchrunner_kinds.tags.iob_tags import as_iob2, phrases, schemes

TASK = CONLL2003.task()
SCORER = ConllEval(CONLL2003.labels)
METRICS = {metric.name: metric for metric in TASK.metrics}
GOOD = "EU NNP I-ORG B-ORG\nsays VBZ O O\n\nBonn NNP I-LOC O\n. . O I-PER\n"


def write(folder: Path, content: str) -> Path:
    (folder / "columns.txt").write_text(content, encoding="utf-8")
    return folder / "columns.txt"


def gold_rows(folder: Path, content: str) -> Rows:
    (folder / "gold.txt").write_text(content, encoding="utf-8")
    rows = (
        Corpus("mine/tweets", "Which persons?", {}, ("LOC",)).file("-").at(folder / "gold.txt").read(workspace(folder))
    )
    return Rows(TASK.problem.check(rows, labelled=False), rows.origin, rows.lines)


@pytest.mark.parametrize("name", ["ner-iob2", "ner-wild"])
def test_the_text_equals_the_scripts_output(name: str) -> None:
    folder = real_data("golden")
    path = folder / f"{name}.txt"
    assert SCORER.recognizes(path)
    assert SCORER.score(path, None, {}).text == (folder / f"{name}.conlleval").read_text()


def test_the_layout_is_the_scripts(tmp_path: Path) -> None:
    scored = SCORER.score(write(tmp_path, GOOD), None, {})
    assert scored.text == (
        "processed 4 tokens with 2 phrases; found: 2 phrases; correct: 1.\n"
        "accuracy:  25.00%; precision:  50.00%; recall:  50.00%; FB1:  50.00\n"
        "              LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  0\n"
        "              ORG: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
        "              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
    )
    figures = {name: figure.value for name, figure in scored.figures.items()}
    assert figures["f1"] == figures["precision"] == figures["recall"] == 50
    assert (figures["accuracy"], figures["tokens"], figures["f1_ORG"], figures["gold_LOC"]) == (25, 4, 100, 1)


def test_a_border_line_counts_as_a_token_and_ends_every_phrase(tmp_path: Path) -> None:
    border = "-DOCSTART- -X- O O\n"
    scored = SCORER.score(write(tmp_path, f"{border}\na N I-LOC I-LOC\n{border}b N I-LOC I-LOC\n"), None, {})
    assert scored.text.startswith("processed 4 tokens with 2 phrases; found: 2 phrases; correct: 2.\naccuracy: 100.00%")


def test_tags_without_phrases_score_zero(tmp_path: Path) -> None:
    scored = SCORER.score(write(tmp_path, "a N O O\n"), None, {})
    assert scored.answers == ["O"]
    assert scored.text == (
        "processed 1 tokens with 0 phrases; found: 0 phrases; correct: 0.\n"
        "accuracy: 100.00%; precision:   0.00%; recall:   0.00%; FB1:   0.00\n"
    )


def counts(evaluation: Evaluation) -> dict[str, tuple[int, int, int]]:
    return {kind: (tally.gold, tally.found, tally.correct) for kind, tally in evaluation.types.items()}


sentence = st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=10)


def sides(sentences: list[list[tuple[str, str]]]) -> tuple[list[list[str]], list[list[str]]]:
    """Part the gold tags from the predicted ones."""
    pairs = [tuple(zip(*tags, strict=True)) for tags in sentences]
    return [list(gold) for gold, _ in pairs], [list(predicted) for _, predicted in pairs]


@settings(max_examples=500, deadline=None)
@given(st.lists(sentence, min_size=1, max_size=4))
def test_any_tags_count_as_in_a_walk_over_the_tokens(sentences: list[list[tuple[str, str]]]) -> None:
    gold, predicted = sides(sentences)
    assert counts(evaluate(gold, predicted)) == conlleval_by_state(list(zip(gold, predicted, strict=True)))


STRICT = {
    "a phrase that begins with I- is no phrase": ("B-LOC I-LOC", "I-LOC I-LOC", 1, 0),
    "after O an I- begins no phrase": ("O B-LOC O B-PER", "O I-LOC O B-PER", 1, 2 / 3),
    "a change of type begins no phrase": ("B-PER B-LOC", "B-PER I-LOC", 1, 2 / 3),
    "an I- of another type is no false phrase": ("B-LOC O", "B-LOC I-PER", 2 / 3, 1),
    "an I- of another type still ends the phrase": ("B-LOC I-LOC", "B-LOC I-PER", 0, 0),
    "well-formed tags": ("B-LOC I-LOC B-LOC O", "B-LOC I-LOC O B-LOC", 0.5, 0.5),
}
"""Gold tags, predicted tags, and by hand the F1 of conlleval and the F1 of well-formed phrases alone."""


@pytest.mark.parametrize(("gold", "predicted", "f1", "strict_f1"), STRICT.values(), ids=STRICT)
def test_strict_f1_counts_well_formed_phrases_only(gold: str, predicted: str, f1: float, strict_f1: float) -> None:
    tags = [gold.split()], [predicted.split()]
    assert METRICS["f1"].value(*tags) == pytest.approx(f1)
    assert METRICS["strict_f1"].value(*tags) == pytest.approx(strict_f1)


def strict_phrases(tags: list[str]) -> set[tuple[int, int, str]]:
    """Find well-formed phrases with a pattern over the text of the tags, each tag five letters wide."""
    text = "".join(tag.ljust(5) for tag in tags)
    return {(*match.span(), match[1]) for match in re.finditer(r"B-(\w{3})(?:I-\1)*", text)}


@settings(max_examples=200, deadline=None)
@given(st.lists(sentence, min_size=1, max_size=4))
def test_strict_f1_of_any_tags_is_that_of_a_pattern(sentences: list[list[tuple[str, str]]]) -> None:
    gold, predicted = sides(sentences)
    pairs = [(strict_phrases(expected), strict_phrases(found)) for expected, found in zip(gold, predicted, strict=True)]
    correct = sum(len(expected & found) for expected, found in pairs)
    total = sum(len(expected) + len(found) for expected, found in pairs)
    assert METRICS["strict_f1"].value(gold, predicted) == pytest.approx(2 * correct / total if total else 0)


def test_metrics_are_fractions_and_types_are_details() -> None:
    gold, predicted = [["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]]
    scores = {name: metric.score(gold, predicted) for name, metric in METRICS.items()}
    values = {name: score.value for name, score in scores.items()}
    assert values["f1"] == pytest.approx(2 / 3) == pytest.approx(values["strict_f1"])
    assert (values["precision"], values["recall"], values["f1_PER"], values["f1_LOC"]) == (1, 0.5, 1, 0)
    assert {metric.scale for metric in TASK.metrics} == {100.0}
    assert [name for name, metric in METRICS.items() if not metric.detail] == ["f1", "precision", "recall", "accuracy"]
    assert scores["f1_ORG"] == Score(None, "no phrase of the type ORG was there or was predicted")


def test_an_answer_of_another_length_is_an_error() -> None:
    with pytest.raises(DataError, match="Row 1 has 2 words, but 1 tags were predicted for it"):
        METRICS["f1"].value([["O"], ["O", "O"]], [["O"], ["O"]])


def test_a_file_is_compared_with_the_gold_one_in_any_scheme(tmp_path: Path) -> None:
    path = write(tmp_path, f"-DOCSTART- -X- O O\n\n{GOOD}")
    for gold in (
        "EU I-ORG\nsays O\n\nBonn I-LOC\n. O\n",
        "EU B-ORG\nsays O\n\nBonn B-LOC\n. O\n",
        "EU\nsays\n\nBonn\n.",
    ):
        assert SCORER.score(path, gold_rows(tmp_path, gold), {}).figures["f1"].value == 50


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ("EU O\nsays O\n\nBonn I-LOC\n. O\n", r"columns\.txt:1: found 'EU' B-ORG, where .*gold\.txt:1 has 'EU' O\."),
        ("EU\nsaid\n\nBonn\n.\n", r"columns\.txt:2: found 'says', where .*gold\.txt:1 has 'said'"),
        ("EU I-ORG\n\nsays O\n", r"columns\.txt:2: found 'says' O, where .*gold\.txt:1 has the end of a sentence"),
        ("EU I-ORG\nsays O\n", r"columns\.txt:4: found 'Bonn' B-LOC, where .*gold\.txt has ended"),
        ("EU I-ORG\nsays O\n\nBonn I-LOC\n. O\n\nx O\n", r"columns\.txt: ends where .*gold\.txt:7 goes on with 'x' O"),
    ],
)
def test_the_first_line_that_differs_from_the_gold_file_is_named(tmp_path: Path, gold: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        SCORER.score(write(tmp_path, GOOD), gold_rows(tmp_path, gold), {})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"columns\.txt:1: the file is empty"),
        ("O O\n", r"columns\.txt:1: expected 'token \.\.\. gold predicted', found 2 columns"),
        ("a N O O\nb O O\n", r"columns\.txt:2: expected 4 columns as on line 1, found 3"),
        ("a N O O\nb N O LOC\n", r"columns\.txt:2: found the tag 'LOC'; expected O, B-PER, I-PER, "),
    ],
)
def test_a_bad_file_is_one_error_with_file_and_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        SCORER.score(write(tmp_path, content), None, {})


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (GOOD, True),
        ("\n-DOCSTART- -X- O O O\n\na N O O O\n", True),
        ("O UH O O\n\nKeeffe NNP I-PER B-PER\n", True),
        ("a\tO\tB-LOC\r\n", True),
        ("index\tprediction\n0\tO O B-LOC\n", False),
        ("O O B-LOC\nO O\nI-PER O O\n", False),
        ("a O\n", False),
        ('{"1": "x"}', False),
        ("", False),
    ],
)
def test_columns_are_told_from_our_own_layouts(tmp_path: Path, content: str, columns: bool) -> None:
    assert SCORER.recognizes(write(tmp_path, content)) == columns
    (tmp_path / "columns.txt").write_bytes(b"\xff\xfe\x00")
    assert not SCORER.recognizes(tmp_path / "columns.txt")
    assert not SCORER.recognizes(tmp_path / "nowhere.txt")


@pytest.mark.parametrize("name", ["f1", "precision", "recall", "accuracy"])
def test_figures_follow_from_sums_over_sentences(name: str) -> None:
    """Sentences that are left out, or that stand twice, count as their weights say."""
    tags = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
    generator = random.Random(0)
    gold = [generator.choices(tags, k=1 + row % 5) for row in range(30)]
    predicted = [generator.choices(tags, k=1 + row % 5) for row in range(30)]
    metric, row_sums = METRICS[name], METRICS[name].row_sums
    assert row_sums is not None
    values = row_sums.values(gold, predicted)
    for _ in range(10):
        rows = generator.choices(range(30), k=8)
        expected = metric.value([gold[row] for row in rows], [predicted[row] for row in rows])
        assert row_sums.scores(values[rows].sum(axis=0)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("tags", "meant"),
    [
        ([], set()),
        (["I-LOC"], {(0, 1, "LOC")}),
        (["O", "I-LOC", "I-LOC"], {(1, 3, "LOC")}),
        (["B-LOC", "I-PER", "I-PER"], {(0, 1, "LOC"), (1, 3, "PER")}),
        (["B-LOC", "I-LOC", "B-LOC"], {(0, 2, "LOC"), (2, 3, "LOC")}),
        (["I-x-y", "I-x-z"], {(0, 1, "x-y"), (1, 2, "x-z")}),
    ],
)
def test_a_phrase_begins_at_b_after_o_and_where_the_type_changes(
    tags: list[str], meant: set[tuple[int, int, str]]
) -> None:
    assert phrases(tags) == meant


@given(st.lists(well_formed(), max_size=4))
def test_well_formed_tags_are_in_iob2(sentences: list[list[str]]) -> None:
    assert [as_iob2(tags) for tags in sentences] == sentences
    assert list(schemes(sentences)) == ["IOB2"] * any(phrases(tags) for tags in sentences)


@given(WILD)
def test_rewriting_ill_formed_tags_keeps_their_phrases(tags: list[str]) -> None:
    assert phrases(as_iob2(tags)) == phrases(tags)


@pytest.mark.parametrize("name", ["eng.testa", "eng.testb"])
def test_the_real_tags_are_in_iob1(name: str) -> None:
    file = CONLL2003.file(name)
    blocks = file.blocks(real_data("conll2003") / name)
    assert schemes([fields[-1] for _, fields in block] for block in blocks if not file.is_border(block)) == {"IOB1"}
