"""Lines, JSON maps and columns: written files pass the check, and unwritable answers are errors."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from benchrunner.errors import RequestError
from benchrunner_submit import Answers, FileKind
from benchrunner_submit.file_kinds.json_file import JsonMap
from file_kinds import CHANCES, CHOICE, COLUMNS, MAYBE, MOODS, QUESTIONS, SAID, SENTENCES, TAGGED, TEXTS

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
def test_a_written_file_has_the_right_text_and_passes_its_check(kind: FileKind, answers: Answers, text: str) -> None:
    assert kind.write("x", answers).decode() == text
    assert kind.check("x", text.encode(), 3) == []
    assert kind.check("x", text.encode(), 3, table=answers.table) == []


def test_words_may_hold_any_character_but_the_separators() -> None:
    words = [["\u2028", *(f"a{mark}b" for mark in "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e" + "\u00a0\u3000")]]
    rows = pa.table({"words": words, "pos": [["NN"] * 11], "labels": [["O"] * 11]})
    written = TAGGED.write("x", Answers([["O"] * 11], rows))
    assert TAGGED.check("x", written, 1, table=rows) == []
    for mark in " \t\n\r":
        bad = pa.table({"words": [[f"a{mark}b"]], "pos": [["NN"]], "labels": [["O"]]})
        with pytest.raises(RequestError, match="expected a text without spaces"):
            TAGGED.write("x", Answers([["O"]], bad))


UNWRITABLE: dict[str, tuple[FileKind, Answers, str]] = {
    "another choice": (CHOICE, Answers([0, 3, -1]), "x, answer 1: found '3'; expected one of the task's labels: 0, 1"),
    "a truth": (CHOICE, Answers([True, 0, 0]), "x, answer 0: found 'True'; expected one of the task's labels"),
    "too few values": (CHANCES, Answers([[0.5, 0.5]]), "x, answer 0: found '[0.5, 0.5]'; expected 3 values."),
    "no values": (CHANCES, Answers([0.5]), "x, answer 0: found '0.5'; expected 3 values."),
    "a score": (CHANCES, Answers([[7.5, 0, 0]]), "expected a number from 0 to 1: write probabilities, not scores."),
    "no text": (TEXTS, Answers(["a", None, "b"], QUESTIONS), "x, id 'q2': found 'None'; expected a text."),
    "a log-odds": (MAYBE, Answers([0.5, 1.5, -2], QUESTIONS), "x, id 'q2': found '1.5'; expected a number from 0 to"),
    "no number": (MAYBE, Answers([0.5, float("nan"), 1], QUESTIONS), "id 'q2': found 'nan'; expected a finite number."),
    "a strange tag": (
        TAGGED,
        Answers([["B-PER", "I-ORG", "O", "O"], *SAID[1:]], SENTENCES),
        "x, sentence 0: found 'I-ORG'; expected O, or B- or I- and PER or LOC.",
    ),
    "a tag too few": (TAGGED, Answers([SAID[0], ["O"], SAID[2]], SENTENCES), "x, sentence 1: found 'O'; expected one"),
    "a space in a word": (
        TAGGED,
        Answers([["O"]], pa.table({"words": [["New York"]], "pos": [["NNP"]], "labels": [["O"]]})),
        "x, sentence 0: found 'New York'; expected a text without spaces, because spaces separate the columns.",
    ),
}


@pytest.mark.parametrize(("kind", "answers", "message"), UNWRITABLE.values(), ids=UNWRITABLE)
def test_an_unwritable_answer_is_an_error_with_its_place(kind: FileKind, answers: Answers, message: str) -> None:
    with pytest.raises(RequestError) as error:
        kind.write("x", answers)
    assert message in str(error.value)


# Any answers


ROWS = st.integers(1, 12)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), rows=ROWS)
def test_any_texts_and_numbers_survive_a_map(data: st.DataObject, rows: int) -> None:
    ids = data.draw(st.lists(st.text(), min_size=rows, max_size=rows, unique=True))
    table = pa.table({"id": pa.array([row_id.encode("utf-8", "ignore").decode() for row_id in ids], pa.string())})
    if len(set(table.column("id").to_pylist())) < rows:
        return
    kinds: list[tuple[JsonMap, st.SearchStrategy[Any]]] = [(TEXTS, st.text()), (MAYBE, st.floats(0, 1, width=32))]
    for kind, strategy in kinds:
        values = data.draw(st.lists(strategy, min_size=rows, max_size=rows))
        content = kind.write("x", Answers(values, table))
        assert kind.check("x", content, rows, table=table) == []
        answers = json.loads(content)
        assert [answers[row_id] for row_id in table.column("id").to_pylist()] == values


TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
WORD = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=6).filter(
    lambda word: word.split() and word != "-DOCSTART-"
)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), rows=ROWS)
def test_any_tags_pass_the_check_and_a_missing_word_does_not(data: st.DataObject, rows: int) -> None:
    sentences = [data.draw(st.lists(WORD, min_size=1, max_size=5)) for _ in range(rows)]

    def tags() -> list[list[str]]:
        lengths = map(len, sentences)
        return [data.draw(st.lists(st.sampled_from(TAGS), min_size=count, max_size=count)) for count in lengths]

    documents = sorted(data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)))
    gold = pa.table({"words": sentences, "pos": sentences, "labels": tags(), "document": documents})
    content = TAGGED.write("x", Answers(tags(), gold))
    assert TAGGED.check("x", content, rows, table=gold) == []
    lines = content.decode().split("\n")
    at = data.draw(st.sampled_from([at for at, line in enumerate(lines) if line]))
    cut = "\n".join(lines[:at] + lines[at + 1 :])
    first_border = at == 0  # the border above everything may be missing
    assert first_border or TAGGED.check("x", cut.encode(), rows, table=gold)
