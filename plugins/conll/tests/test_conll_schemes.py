"""IOB1 and IOB2 write the same phrases, and ill-formed tags are read as conlleval reads them."""

from __future__ import annotations

import pytest
from conll_samples import WILD, real_data, well_formed
from hypothesis import given, strategies as st

from benchrunner.data.iob_tags import as_iob2, first_evidence
from benchrunner_conll import CONLL2003
from benchrunner_conll.schemes import as_iob1, phrases


def test_iob1_needs_a_b_only_between_two_phrases_of_one_type() -> None:
    iob2 = ["B-LOC", "I-LOC", "B-LOC", "O", "B-PER", "B-LOC"]
    iob1 = ["I-LOC", "I-LOC", "B-LOC", "O", "I-PER", "I-LOC"]
    assert (as_iob1(iob2), as_iob2(iob1)) == (iob1, iob2)


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


@given(well_formed())
def test_iob2_to_iob1_and_back_is_the_same(tags: list[str]) -> None:
    assert as_iob2(as_iob1(tags)) == tags == as_iob2(tags)
    assert phrases(as_iob1(tags)) == phrases(tags)


@given(WILD)
def test_rewriting_ill_formed_tags_keeps_their_phrases(tags: list[str]) -> None:
    assert phrases(as_iob1(tags)) == phrases(as_iob2(tags)) == phrases(tags)


@given(st.lists(well_formed(), max_size=4))
def test_a_file_with_phrases_has_witnesses_of_its_scheme_alone(sentences: list[list[str]]) -> None:
    has_phrases = any(phrases(tags) for tags in sentences)
    assert list(first_evidence(sentences)) == ["IOB2"] * has_phrases
    assert list(first_evidence([as_iob1(tags) for tags in sentences])) == ["IOB1"] * has_phrases


def test_witnesses_are_the_first_tags_of_their_scheme() -> None:
    assert first_evidence([["O"], ["O", "I-X", "B-X", "I-Y"], ["B-X"], ["I-X"]]) == {"IOB1": (1, 1), "IOB2": (2, 0)}


@pytest.mark.parametrize("name", ["eng.train", "eng.testa", "eng.testb"])
def test_the_real_tags_to_iob2_and_back_are_the_same(name: str) -> None:
    file = CONLL2003.file(name)
    sentences = [block for block in file.blocks(real_data("conll2003") / name) if not file.is_border(block)]
    begun = 0
    for sentence in sentences:
        tags = [fields[-1] for _, fields in sentence]
        assert as_iob1(as_iob2(tags)) == tags
        begun += " B-" in f" {' '.join(tags)}"
    assert begun
