"""Lists of labels in the files of leaderboards: how they are written and checked."""

import json
from typing import Any

import pyarrow as pa
import pytest

from benchrunner.errors import PluginError, RequestError
from benchrunner_submit import Answers
from benchrunner_submit.file_kinds.json_file import JsonMap
from benchrunner_submit.file_kinds.spellings import LabelList, Labels
from benchrunner_submit.file_kinds.text_files import Lines, Table

MOODS = LabelList(Labels({"glad": "g", "sad": "s"}))
IDS = pa.table({"id": ["x", "y", "z"]})


def test_json_holds_lists_of_the_files_texts() -> None:
    content = JsonMap("id", MOODS).write("m.json", Answers([["glad", "sad"], [], ["sad"]], IDS))
    assert json.loads(content) == {"x": ["g", "s"], "y": [], "z": ["s"]}


def test_other_files_hold_joined_texts() -> None:
    kind = Lines(LabelList(MOODS.labels, separator=" ", empty="none"))
    content = kind.write("m.txt", Answers([["glad", "sad"], [], ["sad"]]))
    assert content == b"g s\nnone\ns\n"
    assert kind.check("m.txt", content, 3) == []
    assert kind.check("m.txt", b"g g\nnone\ns\n", 3) == [
        "m.txt:1: found 'g g'; a label is there twice; each may be there once."
    ]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("g", "m.json, id 'x': found '\"g\"'; expected a list of labels."),
        (["g", 1], "m.json, id 'x': found 'a list'; expected a text, in quotes."),
        ({"g": 1}, "m.json, id 'x': found 'an object'; expected a list of labels."),
        (["g", "g"], "m.json, id 'x': found 'a list'; a label is there twice; each may be there once."),
        (["glad"], "m.json, id 'x': found 'a list'; expected g or s: write g for glad."),
    ],
)
def test_a_wrong_list_is_a_fault_with_its_id(value: Any, reason: str) -> None:
    content = json.dumps({"x": value, "y": [], "z": ["s"]}).encode()
    assert JsonMap("id", MOODS).check("m.json", content, 3, table=IDS) == [reason]


def test_an_answer_of_another_kind_is_not_written() -> None:
    with pytest.raises(RequestError, match="id 'x': found 'glad'; expected a list of the task's labels"):
        JsonMap("id", MOODS).write("m.json", Answers(["glad", [], ["sad"]], IDS))
    with pytest.raises(RequestError, match="expected one of the task's labels: glad or sad"):
        JsonMap("id", MOODS).write("m.json", Answers([["calm"], [], ["sad"]], IDS))


@pytest.mark.parametrize("arguments", [{"separator": "g"}, {"separator": ""}, {"empty": "s"}])
def test_texts_that_could_not_be_told_apart_are_refused(arguments: dict[str, str]) -> None:
    with pytest.raises(PluginError, match="need a separator that none of them has"):
        LabelList(MOODS.labels, **arguments)


def test_lines_need_a_text_for_no_label() -> None:
    with pytest.raises(PluginError, match="A line is never empty: say in 'empty'"):
        Lines(MOODS)
    assert Table(("id", "moods"), MOODS).check("m.tsv", b"id\tmoods\n0\tg,s\n1\t\n", 2) == []
