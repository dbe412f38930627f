"""JSON maps and column files hold columns of the rows: the check compares them with the rows if it has them."""

import json

import pyarrow as pa
import pytest

from benchrunner_submit import FileKind
from benchrunner_submit.file_kinds.columns_file import Columns
from file_kinds import COLUMNS, QUESTIONS, SENTENCES, TAGGED, TEXTS, columns

OTHER_ROWS: dict[str, tuple[FileKind, str, pa.Table, str]] = {
    "a strange id": (TEXTS, '{"q1": "a", "q2": "b", "q4": "c"}', QUESTIONS, "x, id 'q4': found 'q4'; no row has"),
    "another word": (TAGGED, columns("He PRP", "She PRP"), SENTENCES, "x: line 8: found the word 'She', where the"),
    "a word too few": (
        TAGGED,
        columns("left VBD O O\nRome NNP B-LOC B-LOC\n", "left VBD O O\n"),
        SENTENCES,
        "x: line 3: a sentence of 3 words, where the rows have 4 (sentence 0 of the rows, counted from 0).",
    ),
    "another gold tag": (TAGGED, columns("Smith NNP I-PER", "Smith NNP O"), SENTENCES, "x: line 4: found the gold"),
    "a gold entity in two": (
        TAGGED,
        columns("Smith NNP I-PER", "Smith NNP B-PER"),
        SENTENCES,
        "x: line 4: found the gold tag 'B-PER', where the rows have 'I-PER' (sentence 0 of the rows, counted from 0).",
    ),
    "a border too few": (
        TAGGED,
        columns("\n-DOCSTART- -X- O O\n\nParis", "\nParis"),
        SENTENCES,
        "x: line 11: a document begins here; documents are separated by -DOCSTART- lines "
        "(sentence 2 of the rows, counted from 0).",
    ),
    "a border too many": (
        TAGGED,
        columns("He PRP", "-DOCSTART- -X- O O\n\nHe PRP"),
        SENTENCES,
        "x: line 10: no document begins here; documents are separated by -DOCSTART- lines "
        "(sentence 1 of the rows, counted from 0).",
    ),
}


@pytest.mark.parametrize(("kind", "content", "table", "message"), OTHER_ROWS.values(), ids=OTHER_ROWS)
def test_answers_to_other_rows_are_faults_if_the_rows_are_given(
    kind: FileKind, content: str, table: pa.Table, message: str
) -> None:
    assert kind.check("x", content.encode(), 3) == []
    assert kind.check("x", content.encode(), 3, table=table)[0].startswith(message)


def test_unknown_ids_are_reported_beside_missing_ids() -> None:
    content = json.dumps({f"p{number}": "" for number in range(1, 8)})
    assert TEXTS.check("x", content.encode(), 7, table=QUESTIONS) == [
        "x, id 'p1': found 'p1'; no row has this id; this may be an answer to other rows. "
        "Also id 'p2' ('p2'), id 'p3' ('p3'): 7 ids in all.",
        "x: no answer to q1, q2, q3; every id of the rows must be there.",
    ]


def test_gold_tags_of_both_schemes_are_equal_for_any_type() -> None:
    kind = Columns(("words", "labels"), ("MULTI-X",), ("-DOCSTART-", "O"))
    rows = pa.table({"words": [["oak"]], "labels": [["B-MULTI-X"]]})
    assert kind.check("x", b"oak I-MULTI-X O\n", 1, table=rows) == []


def test_gold_tags_in_iob1_are_equal_to_gold_tags_in_iob2() -> None:
    older = columns("B-PER B-PER", "I-PER B-PER").replace("B-LOC B-LOC", "I-LOC B-LOC")
    assert TAGGED.check("x", older.encode(), 3, table=SENTENCES) == []


def test_touching_phrases_of_a_type_differ_from_one_long_phrase() -> None:
    table = pa.table({"words": [["Rome", "Paris"]], "pos": [["N", "N"]], "labels": [["B-LOC", "B-LOC"]]})
    for gold in (("I-LOC", "B-LOC"), ("B-LOC", "B-LOC")):
        assert TAGGED.check("x", "Rome N {} O\nParis N {} O\n".format(*gold).encode(), 1, table=table) == []
    assert len(TAGGED.check("x", b"Rome N I-LOC O\nParis N I-LOC O\n", 1, table=table)) == 1


def test_a_border_needs_no_blank_line_after_it() -> None:
    content = COLUMNS.replace("-DOCSTART- -X- O O\n\n", "-DOCSTART- -X- O O\n").replace("\n\n", "\n \n\n")
    assert TAGGED.check("x", content.encode(), 3, table=SENTENCES) == []
