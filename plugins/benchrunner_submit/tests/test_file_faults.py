"""Lines, JSON maps and columns: each fault of a file is reported once, with its place."""

import gzip

import pytest

from benchrunner_submit import FileKind
from file_kinds import CHANCES, CHOICE, COLUMNS, MAYBE, TAGGED, TEXTS, columns

FAULTS: dict[str, tuple[FileKind, str | bytes, str]] = {
    # lines
    "a line too few": (CHOICE, "2\n0\n", "x: 2 answers, expected 3."),
    "an index": (CHOICE, "0,2\n1,0\n2,1\n", "x:1: found '0,2'; expected the answer alone, without index and header."),
    "another answer": (CHOICE, "2\n0\n3\n", "x:3: found '3'; expected 0, 1 or 2."),
    "an answer with decimals": (CHOICE, "2\n0.0\n1\n", "x:2: found '0.0'; expected 0, 1 or 2, without decimals or"),
    "semicolons": (CHANCES, "1;0;0\n1,0,0\n1,0,0\n", "x:1: found '1;0;0'; expected 3 values, separated by commas"),
    "scores": (CHANCES, "1,0,0\n1,0,0\n-1.5,0,0\n", "x:3: found '-1.5'; expected a number from 0 to 1: write"),
    "a gap": (CHANCES, "1,0,\n1,0,0\n1,0,0\n", "x:1: found ''; expected a number from 0 to 1, with a decimal point"),
    # maps
    "a list": (TEXTS, '[{"id": "q1"}]', "x: expected one JSON object, {id: answer, ...}: the file begins with"),
    "not JSON": (TEXTS, "{'q1': 'a'}", "x: expected one JSON object, {id: answer, ...}: Expecting property name"),
    "an object a line": (
        TEXTS,
        '{"q1": "a"}\n{"q2": "b"}',
        "x: expected one JSON object, {id: answer, ...}: Extra data: line 2",
    ),
    "endless lists": (
        TEXTS,
        "[" * 100_000,
        "x: expected one JSON object, {id: answer, ...}: lists or objects are nested too deep.",
    ),
    "an id twice": (TEXTS, '{"q1": "a", "q2": "b", "q3": "c", "q1": "d"}', "x, id 'q1': found 'q1'; this id is"),
    "a number for a text": (TEXTS, '{"q1": 1815, "q2": "b", "q3": null}', "x, id 'q1': found '1815'; expected a text"),
    "answers in objects": (TEXTS, '{"q1": {"text": "a"}, "q2": ["b"], "q3": "c"}', "x, id 'q1': found 'an object"),
    "an answer too few": (TEXTS, '{"q1": "a", "q2": "b"}', "x: 2 answers, expected 3."),
    "a text for a number": (
        MAYBE,
        '{"q1": "0.5", "q2": true, "q3": 0}',
        "x, id 'q1': found '\"0.5\"'; expected a number from 0 to 1, without quotes. "
        "Also id 'q2' ('true'): 2 ids in all.",
    ),
    "a log-odds": (MAYBE, '{"q1": -7.25, "q2": 0.5, "q3": 1}', "x, id 'q1': found '-7.25'; expected a number from 0"),
    "NaN": (MAYBE, '{"q1": NaN, "q2": 1, "q3": 1}', "x, id 'q1': found 'NaN'; expected a number from 0 to 1, with a"),
    # columns
    "a sentence too few": (TAGGED, columns("\nParis NNP B-LOC B-LOC\n", ""), "x: 2 sentences, expected 3."),
    "no gold tags": (TAGGED, columns("He PRP O O", "He PRP O"), "x:8: found 'He PRP O'; expected 4 columns, with one"),
    "two spaces": (TAGGED, columns("He PRP", "He  PRP"), "x:8: found 'He  PRP O O'; expected 4 columns, with one"),
    "a strange predicted tag": (TAGGED, columns("O I-PER", "O E-PER"), "x:9: found 'E-PER'; expected O, or B- or I-"),
    "a strange gold tag": (TAGGED, columns("B-PER B-PER", "PER B-PER"), "x:3: found 'PER'; expected O, or B- or I-"),
    "a short border": (TAGGED, columns("-X- O O", "-X- O"), "x:1: found '-DOCSTART- -X- O'; expected 4 columns, with"),
    "a tagged border": (TAGGED, columns("-X- O O", "-X- O B-PER"), "x:1: found 'B-PER'; the tags of a border line"),
    "zero bytes": (CHOICE, b"2\n\0\0\n", "x: not a text file: it holds zero bytes; expected UTF-8 text."),
    "gzip": (TAGGED, gzip.compress(COLUMNS.encode()), "x: compressed with gzip; unpack it."),
    "CR LF": (TAGGED, COLUMNS.replace("\n", "\r\n"), "x: lines end with CR LF, as Windows writes them (14 in all)"),
}


@pytest.mark.parametrize(("kind", "content", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_reported_once_with_its_place(kind: FileKind, content: str | bytes, message: str) -> None:
    faults = kind.check("x", content if isinstance(content, bytes) else content.encode(), 3)
    [fault, *_] = [fault for fault in faults if " expected 3." not in fault] or faults
    assert fault.startswith(message) and all(fault == other or " expected 3." in other for other in faults)
