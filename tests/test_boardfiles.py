"""Lines, JSON maps and columns: what is written checks clean, and each fault is told once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchrunner.boardfiles import Answers, FileKind
from benchrunner.boardfiles.columns import Columns
from benchrunner.boardfiles.json_map import JsonMap
from benchrunner.boardfiles.lines import Lines
from benchrunner.errors import PluginError, RequestError
from benchrunner.spellings import Labels, Number

CHOICE = Lines(Labels({str(one): str(one) for one in range(3)}))
CHANCES = Lines(Number(0, 1, 3, outside="write probabilities, not scores"), values=3)
TEXTS = JsonMap("id")
MAYBE = JsonMap("id", Number(0, 1, outside="a log-odds is no probability"))
MOODS = JsonMap("id", Labels({"sad": "0", "glad": "1"}))
TAGGED = Columns(("words", "pos", "labels"), ("PER", "LOC"), ("-DOCSTART-", "-X-", "O"))

QUESTIONS = pa.table({"id": ["q1", "q2", "q3"]})
SENTENCES = pa.table(
    {
        "words": [["John", "Smith", "left", "Rome"], ["He", "sang"], ["Paris"]],
        "pos": [["NNP", "NNP", "VBD", "NNP"], ["PRP", "VBD"], ["NNP"]],
        "labels": [["B-PER", "I-PER", "O", "B-LOC"], ["O", "O"], ["B-LOC"]],
        "document": [0, 0, 1],
    }
)
SAID = [["B-PER", "I-LOC", "O", "B-LOC"], ["O", "I-PER"], ["B-LOC"]]
COLUMNS = """-DOCSTART- -X- O O

John NNP B-PER B-PER
Smith NNP I-PER I-LOC
left VBD O O
Rome NNP B-LOC B-LOC

He PRP O O
sang VBD O I-PER

-DOCSTART- -X- O O

Paris NNP B-LOC B-LOC

"""

WRITTEN: dict[str, tuple[FileKind, Answers, str]] = {
    "one value a line": (CHOICE, Answers([2, 0, 1]), "2\n0\n1\n"),
    "several values a line": (
        CHANCES,
        Answers([[0.5, 0.25, 0.25], (1.0, 0.0, 1e-9), [0.3333333, 0.3333333, 0.3333334]]),
        "0.500,0.250,0.250\n1.000,0.000,0.000\n0.333,0.333,0.333\n",
    ),
    "texts by id": (
        TEXTS,
        Answers(['the "last" one', "", "naïve \ud800"], QUESTIONS),
        '{\n    "q1": "the \\"last\\" one",\n    "q2": "",\n    "q3": "na\\u00efve \\ud800"\n}\n',
    ),
    "numbers by id": (
        MAYBE,
        Answers([0, 1.0, 0.12345678901234566], QUESTIONS),
        '{\n    "q1": 0.0,\n    "q2": 1.0,\n    "q3": 0.12345678901234566\n}\n',
    ),
    "labels by id": (
        MOODS,
        Answers(["sad", "glad", "sad"], QUESTIONS),
        '{\n    "q1": "0",\n    "q2": "1",\n    "q3": "0"\n}\n',
    ),
    "columns": (TAGGED, Answers(SAID, SENTENCES), COLUMNS),
    "columns without documents": (
        TAGGED,
        Answers(SAID, SENTENCES.drop_columns("document")),
        COLUMNS.replace("-DOCSTART- -X- O O\n\n", ""),
    ),
}


@pytest.mark.parametrize(("kind", "answers", "text"), WRITTEN.values(), ids=WRITTEN)
def test_what_is_written_is_as_it_should_be_and_checks_clean(kind: FileKind, answers: Answers, text: str) -> None:
    assert kind.write("x", answers).decode() == text
    assert kind.check("x", text.encode(), 3) == []
    assert kind.check("x", text.encode(), 3, table=answers.table) == []


UNWRITABLE: dict[str, tuple[FileKind, Answers, str]] = {
    "another choice": (CHOICE, Answers([0, 3, -1]), "x, answer 1: found '3'; expected one of the task's labels: 0, 1"),
    "a truth": (CHOICE, Answers([True, 0, 0]), "x, answer 0: found 'True'; expected one of the task's labels"),
    "too few values": (CHANCES, Answers([[0.5, 0.5]]), "x, answer 0: found '[0.5, 0.5]'; expected 3 values."),
    "no values": (CHANCES, Answers([0.5]), "x, answer 0: found '0.5'; expected 3 values."),
    "a score": (CHANCES, Answers([[7.5, 0, 0]]), "expected a number from 0 to 1: write probabilities, not scores."),
    "no text": (TEXTS, Answers(["a", None, "b"], QUESTIONS), "x, id 'q2': found 'None'; expected a text."),
    "a log-odds": (
        MAYBE,
        Answers([0.5, 1.5, -2], QUESTIONS),
        "x, id 'q2': found '1.5'; expected a number from 0 to 1: a log-odds is no probability. "
        "Also id 'q3' ('-2'): 2 ids in all.",
    ),
    "no number": (MAYBE, Answers([0.5, float("nan"), 1], QUESTIONS), "id 'q2': found 'nan'; expected a finite number."),
    "a strange tag": (
        TAGGED,
        Answers([["B-PER", "I-ORG", "O", "O"], *SAID[1:]], SENTENCES),
        "x, sentence 0: found 'I-ORG'; expected O, or B- or I- and PER or LOC.",
    ),
    "a tag too few": (
        TAGGED,
        Answers([SAID[0], ["O"], SAID[2]], SENTENCES),
        "x, sentence 1: found 'O'; expected one tag for each word.",
    ),
    "a space in a word": (
        TAGGED,
        Answers([["O"]], pa.table({"words": [["New York"]], "pos": [["NNP"]], "labels": [["O"]]})),
        "x, sentence 0: found 'New York'; expected a text without spaces, since spaces separate the columns.",
    ),
}


@pytest.mark.parametrize(("kind", "answers", "said"), UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_cannot_be_written_is_told_with_its_place(kind: FileKind, answers: Answers, said: str) -> None:
    with pytest.raises(RequestError) as told:
        kind.write("x", answers)
    assert said in str(told.value)


def columns(old: str, new: str) -> str:
    assert old in COLUMNS
    return COLUMNS.replace(old, new, 1)


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


def test_gold_tags_of_either_scheme_are_the_same_whatever_a_type_is_called() -> None:
    kind = Columns(("words", "labels"), ("MULTI-X",), ("-DOCSTART-", "O"))
    rows = pa.table({"words": [["oak"]], "labels": [["B-MULTI-X"]]})
    assert kind.check("x", b"oak I-MULTI-X O\n", 1, table=rows) == []


OTHERS: dict[str, tuple[FileKind, str, pa.Table, str]] = {
    "a strange id": (
        TEXTS,
        '{"q1": "a", "q2": "b", "q4": "c"}',
        QUESTIONS,
        "x: no answer to 'q3'; every id of the rows must be there.",
    ),
    "another word": (
        TAGGED,
        columns("He PRP", "She PRP"),
        SENTENCES,
        "x: line 8: found the word 'She', where the rows have 'He' (sentence 1 of the rows, counted from 0).",
    ),
    "a word too few": (
        TAGGED,
        columns("left VBD O O\nRome NNP B-LOC B-LOC\n", "left VBD O O\n"),
        SENTENCES,
        "x: line 3: a sentence of 3 words, where the rows have 4 (sentence 0 of the rows, counted from 0).",
    ),
    "another gold tag": (
        TAGGED,
        columns("Smith NNP I-PER", "Smith NNP O"),
        SENTENCES,
        "x: line 4: found the gold tag 'O', where the rows have 'I-PER' (sentence 0 of the rows, counted from 0).",
    ),
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
        "x: line 11: a document begins here; -DOCSTART- lines stand between documents "
        "(sentence 2 of the rows, counted from 0).",
    ),
    "a border too many": (
        TAGGED,
        columns("He PRP", "-DOCSTART- -X- O O\n\nHe PRP"),
        SENTENCES,
        "x: line 10: no document begins here; -DOCSTART- lines stand between documents "
        "(sentence 1 of the rows, counted from 0).",
    ),
}


@pytest.mark.parametrize(("kind", "content", "table", "said"), OTHERS.values(), ids=OTHERS)
def test_answers_to_other_rows_are_told_where_the_rows_are_at_hand(
    kind: FileKind, content: str, table: pa.Table, said: str
) -> None:
    assert kind.check("x", content.encode(), 3) == []
    assert kind.check("x", content.encode(), 3, table=table)[0] == said


def test_strange_ids_are_told_beside_missing_ones() -> None:
    content = json.dumps({f"p{number}": "" for number in range(1, 8)})
    assert TEXTS.check("x", content.encode(), 7, table=QUESTIONS) == [
        "x: no answer to 'q1', 'q2', 'q3'; every id of the rows must be there.",
        "x: no row has the id 'p1', 'p2', 'p3' and 4 more; these may be answers to other rows.",
    ]


def test_gold_tags_of_the_older_scheme_are_the_same_gold_tags() -> None:
    older = columns("B-PER B-PER", "I-PER B-PER").replace("B-LOC B-LOC", "I-LOC B-LOC")
    assert TAGGED.check("x", older.encode(), 3, table=SENTENCES) == []


def test_neighbours_of_one_type_are_told_apart_in_both_schemes() -> None:
    table = pa.table({"words": [["Rome", "Paris"]], "pos": [["N", "N"]], "labels": [["B-LOC", "B-LOC"]]})
    for gold in (("I-LOC", "B-LOC"), ("B-LOC", "B-LOC")):
        assert TAGGED.check("x", "Rome N {} O\nParis N {} O\n".format(*gold).encode(), 1, table=table) == []
    assert len(TAGGED.check("x", b"Rome N I-LOC O\nParis N I-LOC O\n", 1, table=table)) == 1


def test_a_border_may_be_followed_by_words_at_once() -> None:
    content = COLUMNS.replace("-DOCSTART- -X- O O\n\n", "-DOCSTART- -X- O O\n").replace("\n\n", "\n \n\n")
    assert TAGGED.check("x", content.encode(), 3, table=SENTENCES) == []


def test_a_count_that_people_come_with_by_mistake_is_named() -> None:
    assert CHOICE.check("x", b"1\n1\n", 3, {2: "the rows of last year"}) == [
        "x: 2 lines (the rows of last year), expected 3."
    ]


@pytest.mark.parametrize(
    "build",
    [
        lambda: Lines(Number(0, 1, 3), values=0),
        lambda: JsonMap(""),
        lambda: Columns(("words",), ("PER",), ("-DOCSTART-",)),
        lambda: Columns(("words", "labels"), (), ("-DOCSTART-", "O")),
        lambda: Columns(("words", "labels"), ("PER",), ("-DOCSTART-",)),
    ],
)
def test_a_kind_that_cannot_be_is_refused(build: Callable[[], FileKind]) -> None:
    with pytest.raises(PluginError):
        build()


# --- properties

ROWS = st.integers(1, 12)


@settings(max_examples=80, deadline=None)
@given(data=st.data(), rows=ROWS)
def test_any_texts_and_numbers_survive_a_map(data: st.DataObject, rows: int) -> None:
    ids = data.draw(st.lists(st.text(), min_size=rows, max_size=rows, unique=True))
    table = pa.table({"id": pa.array([one.encode("utf-8", "ignore").decode() for one in ids], pa.string())})
    if len(set(table.column("id").to_pylist())) < rows:
        return
    kinds: list[tuple[JsonMap, st.SearchStrategy[Any]]] = [(TEXTS, st.text()), (MAYBE, st.floats(0, 1, width=32))]
    for kind, strategy in kinds:
        values = data.draw(st.lists(strategy, min_size=rows, max_size=rows))
        content = kind.write("x", Answers(values, table))
        assert kind.check("x", content, rows, table=table) == []
        found = json.loads(content)
        assert [found[one] for one in table.column("id").to_pylist()] == values


TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
WORD = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=6).filter(lambda one: one.split())


@settings(max_examples=80, deadline=None)
@given(data=st.data(), rows=ROWS)
def test_any_tags_of_any_words_check_clean_and_one_word_less_does_not(data: st.DataObject, rows: int) -> None:
    sentences = [data.draw(st.lists(WORD, min_size=1, max_size=5)) for _ in range(rows)]
    sentences = [[one for one in words if one != "-DOCSTART-"] or ["a"] for words in sentences]

    def tags() -> list[list[str]]:
        return [data.draw(st.lists(st.sampled_from(TAGS), min_size=len(one), max_size=len(one))) for one in sentences]

    documents = sorted(data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)))
    gold = pa.table({"words": sentences, "pos": sentences, "labels": tags(), "document": documents})
    content = TAGGED.write("x", Answers(tags(), gold))
    assert TAGGED.check("x", content, rows, table=gold) == []
    lines = content.decode().split("\n")
    at = data.draw(st.sampled_from([at for at, one in enumerate(lines) if one]))
    cut = "\n".join(lines[:at] + lines[at + 1 :])
    first_border = at == 0  # the border above everything may be missing
    assert first_border or TAGGED.check("x", cut.encode(), rows, table=gold)
