"""Lines, JSON maps and columns: each fault of a file is told once, with its place."""

from __future__ import annotations

import pytest

from benchrunner.leaderboards.file_kind import FileKind
from file_kinds import CHANCES, CHOICE, COLUMNS, MAYBE, MOODS, TAGGED, TEXTS, columns

FAULTS: dict[str, tuple[FileKind, str | bytes, str]] = {
    # lines
    "no lines": (CHOICE, "", "x: the file is empty; one line for each row was expected."),
    "a line too few": (CHOICE, "2\n0\n", "x: 2 lines, expected 3."),
    "an index": (
        CHOICE,
        "0,2\n1,0\n2,1\n",
        "x:1: found '0,2'; expected the answer alone: no index and no header belong here. "
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
        "x:1: found '1;0;0'; expected 3 values, separated by commas: no index and no header belong here.",
    ),
    "scores": (
        CHANCES,
        "1,0,0\n1,0,0\n-1.5,0,0\n",
        "x:3: found '-1.5'; expected a number from 0 to 1: write probabilities, not scores.",
    ),
    "a gap": (
        CHANCES,
        "1,0,\n1,0,0\n1,0,0\n",
        "x:1: found ''; expected a number from 0 to 1, with a decimal point; nan and inf are no numbers here.",
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
        "x: not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1).",
    ),
    "an object a line": (
        TEXTS,
        '{"q1": "a"}\n{"q2": "b"}',
        "x: not valid JSON: Extra data: line 2 column 1 (char 12).",
    ),
    "endless lists": (
        TEXTS,
        "[" * 100_000,
        "x: lists or objects stand too deep in one another; an answer is one text or number.",
    ),
    "an endless number": (MAYBE, '{"q1": ' + "1" * 5000 + "}", "x: not valid JSON: Exceeds the limit"),
    "an id twice": (
        TEXTS,
        '{"q1": "a", "q2": "b", "q3": "c", "q1": "d"}',
        "x, id 'q1': found '2 times'; each id must stand once.",
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
        "x, id 'q1': found 'NaN'; expected a number from 0 to 1, with a decimal point; nan and inf are no numbers",
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
    "a tagged border": (TAGGED, columns("-X- O O", "-X- O B-PER"), "x:1: found 'B-PER'; a border line is tagged O."),
    "CR LF": (
        TAGGED,
        COLUMNS.replace("\n", "\r\n"),
        "x: lines end with CR LF, as Windows writes them (14 in all); end lines with LF alone.",
    ),
}


@pytest.mark.parametrize(("kind", "content", "said"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_told_once_with_its_place(kind: FileKind, content: str | bytes, said: str) -> None:
    problems = kind.check("x", content if isinstance(content, bytes) else content.encode(), 3)
    assert problems and problems[0].startswith(said)
    assert [one for one in problems[1:] if " expected 3." not in one] == []


def test_a_count_that_people_come_with_by_mistake_is_named() -> None:
    assert CHOICE.check("x", b"1\n1\n", 3, {2: "the rows of last year"}) == [
        "x: 2 lines (the rows of last year), expected 3."
    ]
