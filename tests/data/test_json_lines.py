"""Files of JSON lines: columns by key, inner objects, several rows of an object, an error for each kind of fault."""

import os
from pathlib import Path
from typing import Any

import pytest

from benchrunner import DataError, JsonTable, PluginError, Rows, Workspace

MOOD = JsonTable("t.jsonl", {"a": "text", "label": "mood"}, labels={"true": "glad", "false": "sad"})


def read(source: JsonTable, folder: Path, content: str | bytes) -> Rows:
    (folder / "t.jsonl").write_bytes(content.encode() if isinstance(content, str) else content)
    return source.read(Workspace(runs=folder / "runs", cache=folder / "cache", data=folder))


def error(source: JsonTable, folder: Path, content: str | bytes) -> str:
    with pytest.raises(DataError) as caught:
        read(source, folder, content)
    return str(caught.value).replace(f"{folder}{os.sep}", "")


def test_keys_become_columns_and_labels_are_respelled(tmp_path: Path) -> None:
    rows = read(MOOD, tmp_path, '{"mood": true, "text": "It works.", "more": 1}\n{"text": "a\u2028b", "mood": false}\n')
    assert rows.table.to_pydict() == {"a": ["It works.", "a\u2028b"], "label": ["glad", "sad"]}
    assert rows.where(1) == f"{tmp_path / 't.jsonl'}:2"


@pytest.mark.parametrize(
    ("labels", "written", "expected"),
    [
        ({"1": "yes", "0": "no"}, "1", "yes"),
        ({"1": "yes", "0": "no"}, '"1"', "yes"),
        ({"1": "yes"}, "true", True),  # true is not the number 1
        ({"x": "yes"}, '["x", "z"]', ["yes", "z"]),
        ({}, "2.5", 2.5),
    ],
)
def test_a_label_is_named_as_json_writes_it(labels: Any, written: str, expected: Any, tmp_path: Path) -> None:
    source = JsonTable("t.jsonl", {"label": "mood"}, labels=labels)
    assert read(source, tmp_path, f'{{"mood": {written}}}').table.to_pydict() == {"label": [expected]}


def test_a_key_of_an_inner_object_is_named_with_points(tmp_path: Path) -> None:
    source = JsonTable("t.jsonl", {"a": "passage.text", "b": "x.y"})
    content = '{"passage": {"text": "hello"}, "x.y": "a point in the key"}'
    assert read(source, tmp_path, content).table.to_pydict() == {"a": ["hello"], "b": ["a point in the key"]}


def test_an_object_may_hold_several_rows(tmp_path: Path) -> None:
    source = JsonTable("t.jsonl", {"a": "q"}, rows=lambda value: [{"q": text} for text in value["questions"]])
    rows = read(source, tmp_path, '{"questions": ["who?", "where?"]}\n{"questions": ["when?"]}\n')
    assert rows.table.to_pydict() == {"a": ["who?", "where?", "when?"]}
    assert rows.lines == [1, 1, 2]


def test_an_optional_key_may_be_missing(tmp_path: Path) -> None:
    source = JsonTable("t.jsonl", {"a": "text", "id": "id"}, optional=("id",))
    rows = read(source, tmp_path, '{"text": "a", "id": 3}\n{"text": "b"}\n')
    assert rows.table.to_pydict() == {"a": ["a", "b"], "id": [3, None]}


def test_an_unlabelled_source_needs_no_label_keys(tmp_path: Path) -> None:
    unlabelled = MOOD.unlabelled(("label",))
    assert isinstance(unlabelled, JsonTable)
    assert read(unlabelled, tmp_path, '{"text": "a"}').table.to_pydict() == {"a": ["a"]}


def test_a_latin_1_file_is_read_as_its_source_says(tmp_path: Path) -> None:
    source = JsonTable("t.jsonl", {"a": "text"}, encoding="latin-1")
    assert read(source, tmp_path, '{"text": "año"}'.encode("latin-1")).table.to_pydict() == {"a": ["año"]}


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(PluginError, match="no encoding 'latin_17'"):
        JsonTable("t.jsonl", {"a": "text"}, encoding="latin_17")


TEXTS = JsonTable("t.jsonl", {"a": "text"})
QUESTIONS = JsonTable("t.jsonl", {"a": "q"}, rows=lambda value: [{"q": text} for text in value["questions"]])


@pytest.mark.parametrize(
    ("source", "content", "expected"),
    [
        (TEXTS, "", "t.jsonl:1: the file is empty"),
        (TEXTS, '{"text": "a"}\n\n{"text": "b"}', "t.jsonl:2: an empty line"),
        (TEXTS, '[\n{"text": "a"}]', "t.jsonl:1: not valid JSON at column 2"),
        (TEXTS, '["a"]', "t.jsonl:1: expected a JSON object on each line, found '[\"a\"]'"),
        (TEXTS, '{"text": "a"}\n{"text": "b"', "t.jsonl:2: not valid JSON at column 13"),
        (TEXTS, '{"text": "a", "text": "b"}', "t.jsonl:1: the key 'text' stands twice"),
        (TEXTS, '{"txt": "a"}', "t.jsonl:1: no key 'text'; the keys of this object: txt."),
        (TEXTS, "{}", "t.jsonl:1: no key 'text'; the keys of this object: none."),
        (JsonTable("t.jsonl", {"a": "p.text"}), '{"p": "a"}', "t.jsonl:1: no key 'p.text'"),
        (TEXTS, '{"text": "a"}\n{"text": null}\n{"text": 3}', "t.jsonl:3: 'text' is a number here, and a text in"),
        (TEXTS, '{"text": null}\n{"text": 3}\n{"text": "a"}', "t.jsonl:3: 'text' is a text here, and a number in"),
        (TEXTS, '{"text": "a"}\n{"text": "\\ud800"}', "t.jsonl:2: 'text' has half of a surrogate pair"),
        (TEXTS, '{"text": [1, "a"]}', "t.jsonl: 'text' has values that do not fit together"),
        (TEXTS, '{"text": ' + "9" * 40 + "}", "t.jsonl: 'text' has values that do not fit together"),
        (TEXTS, '{"text": ' + "9" * 5000 + "}", "t.jsonl:1: not valid JSON: a number has thousands of digits."),
        (TEXTS, "[" * 100_000, "t.jsonl:1: lists and objects are nested more than"),
        (TEXTS, b'{"text": "a"}\n{"text": "\xff"}', "t.jsonl:2: not UTF-8 text"),
        (QUESTIONS, '{"question": "a"}', "t.jsonl:1: the rows of this object cannot be read: there is no 'questions'."),
        (QUESTIONS, '{"questions": 3}', "t.jsonl:1: the rows of this object cannot be read: TypeError"),
    ],
)
def test_a_fault_is_told_with_its_line(source: JsonTable, content: str | bytes, expected: str, tmp_path: Path) -> None:
    assert error(source, tmp_path, content).startswith(expected)
