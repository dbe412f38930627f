"""Lines, JSON maps and columns: each fault of a file is reported once, with its place."""

from __future__ import annotations

import gzip

import pytest

from benchrunner.leaderboards.file_kinds.file_kind import FileKind
from file_kinds import CHANCES, CHOICE, COLUMNS, MAYBE, MOODS, TAGGED, TEXTS, columns
from mood_boards import MOOD

FAULTS: dict[str, tuple[FileKind, str | bytes, str]] = {
    # lines
    "no lines": (CHOICE, "", "x: the file is empty; one line for each row was expected."),
    "a line too few": (CHOICE, "2\n0\n", "x: 2 lines, expected 3."),
    "an index": (
        CHOICE,
        "0,2\n1,0\n2,1\n",
        "x:1: found '0,2'; expected the answer alone, without index and header. "
        "Also line 2 ('1,0'), line 3 ('2,1'): 3 lines in all.",
    ),
    "another answer": (CHOICE, "2\n0\n3\n", "x:3: found '3'; expected 0, 1 or 2."),
    "an answer with decimals": (
        CHOICE,
        "2\n0.0\n1\n",
        "x:2: found '0.0'; expected 0, 1 or 2, without decimals or signs.",
    ),
    "a blank line": (CHOICE, "2\n\n0\n1\n", "x:2: found ''; blank lines are not allowed."),
    "semicolons": (
        CHANCES,
        "1;0;0\n1,0,0\n1,0,0\n",
        "x:1: found '1;0;0'; expected 3 values, separated by commas, without index and header.",
    ),
    "scores": (
        CHANCES,
        "1,0,0\n1,0,0\n-1.5,0,0\n",
        "x:3: found '-1.5'; expected a number from 0 to 1: write probabilities, not scores.",
    ),
    "a gap": (
        CHANCES,
        "1,0,\n1,0,0\n1,0,0\n",
        "x:1: found ''; expected a number from 0 to 1, with a decimal point; nan and inf are not allowed.",
    ),
    # maps
    "no map": (TEXTS, " \n", "x: the file is empty; one JSON object, {id: answer, ...}, was expected."),
    "a list": (
        TEXTS,
        '[{"id": "q1"}]',
        'x: one JSON object, {id: answer, ...}, was expected; the file begins with \'[{"id": "q1"}]\'.',
    ),
    "null": (TEXTS, "null", "x: one JSON object, {id: answer, ...}, was expected; the file begins with 'null'."),
    "not JSON": (
        TEXTS,
        "{'q1': 'a'}",
        "x: not valid JSON: line 1, column 2: Expecting property name enclosed in double quotes.",
    ),
    "an object a line": (
        TEXTS,
        '{"q1": "a"}\n{"q2": "b"}',
        "x: not valid JSON: line 2, column 1: Extra data; write one object for the whole file.",
    ),
    "endless lists": (
        TEXTS,
        "[" * 100_000,
        "x: lists or objects are nested too deep; an answer is one text or number.",
    ),
    "an endless number": (
        MAYBE,
        '{"q1": ' + "1" * 5000 + "}",
        "x: not valid JSON: it has a number of thousands of digits.",
    ),
    "an id twice": (
        TEXTS,
        '{"q1": "a", "q2": "b", "q3": "c", "q1": "d"}',
        "x, id 'q1': found '2 times'; each id must be there once.",
    ),
    "a number for a text": (
        TEXTS,
        '{"q1": 1815, "q2": "b", "q3": null}',
        "x, id 'q1': found '1815'; expected a text, in quotes. Also id 'q3' ('null'): 2 ids in all.",
    ),
    "answers in objects": (
        TEXTS,
        '{"q1": {"text": "a"}, "q2": ["b"], "q3": "c"}',
        "x, id 'q1': found 'an object'; expected a text, in quotes. Also id 'q2' ('a list'): 2 ids in all.",
    ),
    "an answer too few": (TEXTS, '{"q1": "a", "q2": "b"}', "x: 2 answers, expected 3."),
    "a text for a number": (
        MAYBE,
        '{"q1": "0.5", "q2": true, "q3": 0}',
        "x, id 'q1': found '\"0.5\"'; expected a number from 0 to 1, without quotes. "
        "Also id 'q2' ('true'): 2 ids in all.",
    ),
    "a log-odds": (
        MAYBE,
        '{"q1": -7.25, "q2": 0.5, "q3": 1}',
        "x, id 'q1': found '-7.25'; expected a number from 0 to 1: a log-odds is no probability.",
    ),
    "NaN": (
        MAYBE,
        '{"q1": NaN, "q2": 1, "q3": 1}',
        "x, id 'q1': found 'NaN'; expected a number from 0 to 1, with a decimal point; nan and inf are not allowed",
    ),
    "another label": (
        MOODS,
        '{"q1": "0", "q2": "glad", "q3": "1"}',
        "x, id 'q2': found '\"glad\"'; expected 0 or 1: wr",
    ),
    "UTF-16": (TEXTS, '{"q1": "a"}'.encode("utf-16"), "x: UTF-16 text; save it as UTF-8."),
    "BOM": (
        TEXTS,
        b'\xef\xbb\xbf{"q1": "a", "q2": "", "q3": "c"}',
        "x: begins with a byte order mark (BOM); save it as UTF-8 without one.",
    ),
    # columns
    "no words": (TAGGED, "\n", "x: the file is empty; one line for each word was expected."),
    "a sentence too few": (TAGGED, columns("\nParis NNP B-LOC B-LOC\n", ""), "x: 2 sentences, expected 3."),
    "no gold tags": (
        TAGGED,
        columns("He PRP O O", "He PRP O"),
        "x:8: found 'He PRP O'; expected 4 columns, with one space between them.",
    ),
    "two spaces": (
        TAGGED,
        columns("He PRP", "He  PRP"),
        "x:8: found 'He  PRP O O'; expected 4 columns, with one space between them.",
    ),
    "tabs": (
        TAGGED,
        columns("He PRP O O", "He\tPRP\tO\tO"),
        "x:8: found 'He\\tPRP\\tO\\tO'; expected 4 columns, with one space between them.",
    ),
    "a strange predicted tag": (
        TAGGED,
        columns("O I-PER", "O E-PER"),
        "x:9: found 'E-PER'; expected O, or B- or I- and PER or LOC.",
    ),
    "a strange gold tag": (
        TAGGED,
        columns("B-PER B-PER", "PER B-PER"),
        "x:3: found 'PER'; expected O, or B- or I- and PER or LOC.",
    ),
    "a short border": (
        TAGGED,
        columns("-X- O O", "-X- O"),
        "x:1: found '-DOCSTART- -X- O'; expected 4 columns, with one space between them.",
    ),
    "a tagged border": (
        TAGGED,
        columns("-X- O O", "-X- O B-PER"),
        "x:1: found 'B-PER'; the tags of a border line are O.",
    ),
    "CR alone": (CHOICE, "2\r0\r1\r", "x: lines end with CR alone; end lines with LF alone."),
    "zero bytes": (CHOICE, b"2\n\0\0\n", "x: not a text file: it holds zero bytes; expected UTF-8 text."),
    "zero bytes in a map": (TEXTS, b"\0" * 100, "x: not a text file: it holds zero bytes; expected UTF-8 text."),
    "a picture": (TAGGED, b"\x89PNG\r\n\x1a\n\xff", "x: line 1: not UTF-8 text; save it as UTF-8."),
    "gzip": (TAGGED, gzip.compress(COLUMNS.encode()), "x: compressed with gzip; unpack it."),
    "CR LF": (
        TAGGED,
        COLUMNS.replace("\n", "\r\n"),
        "x: lines end with CR LF, as Windows writes them (14 in all); end lines with LF alone.",
    ),
}


@pytest.mark.parametrize(("kind", "content", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_reported_once_with_its_place(kind: FileKind, content: str | bytes, message: str) -> None:
    faults = kind.check("x", content if isinstance(content, bytes) else content.encode(), 3)
    assert faults and faults[0].startswith(message)
    assert [fault for fault in faults[1:] if " expected 3." not in fault] == []


def test_other_separators_are_not_reported_as_missing_indices() -> None:
    lines = "".join(f"{index},1\n" for index in range(3))
    assert MOOD.check("x", f"index,prediction\n{lines}".encode(), 3) == [
        "x: line 1: wrong header: expected 'index\\tprediction', separated by a TAB, found 'index,prediction'.",
        "x:2: found '0,1'; expected 2 columns, separated by one TAB. Also line 3 ('1,1'), line 4 ('2,1'): "
        "3 lines in all.",
    ]


def test_a_line_of_a_million_letters_is_shortened() -> None:
    (count, answer) = MOOD.check("x", b"index\tprediction\n0\t" + b"y" * 10**6 + b"\n", 2)[:2]
    assert count == "x: 1 row, expected 2."
    assert answer == f"x:2: found '{'y' * 55}...'; expected 0 or 1."


def test_a_common_wrong_count_is_explained() -> None:
    assert CHOICE.check("x", b"1\n1\n", 3, {2: "the rows of last year"}) == [
        "x: 2 lines (the rows of last year), expected 3."
    ]
