"""Files of JSON lines: written files pass the check, and every fault of other files is named."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from benchrunner import PluginError, RequestError
from benchrunner_submit import Answers, JsonLines, Labels, Spelling, Text
from board_texts import BOARD_TOML, read_board

ROWS = pa.table({"idx": [7, 3, 5]})
MOODS = JsonLines("idx", Labels({"sad": "no", "glad": "yes"}))
NUMBERS = JsonLines("idx", Labels({"0": 0, "1": 1}))
GOOD = '{"idx": 7, "label": "yes"}\n{"idx": 3, "label": "no"}\n{"idx": 5, "label": "no"}\n'


@pytest.mark.parametrize(
    ("spelling", "answers", "values"),
    [
        (Labels({"sad": "no", "glad": "yes"}), ["glad", "sad", "sad"], ["yes", "no", "no"]),
        (Labels({"0": 0, "1": 1}), [1, 0, 0], [1, 0, 0]),
        (Labels({"no": False, "yes": True}), ["yes", "no", "no"], [True, False, False]),
        (Text(), ['a "b"\n', "", "\u2028 \ud800"], ['a "b"\n', "", "\u2028 \ud800"]),
    ],
)
def test_a_written_file_passes_its_check(spelling: Spelling, answers: list[Any], values: list[Any]) -> None:
    kind = JsonLines("idx", spelling, keys=("id", "answer"))
    content = kind.write("x.jsonl", Answers(answers, ROWS))
    lines = [json.loads(line) for line in content.decode().split("\n")[:-1]]
    assert lines == [{"id": row, "answer": value} for row, value in zip([7, 3, 5], values, strict=True)]
    assert kind.check("x.jsonl", content, 3) == kind.check("x.jsonl", content, 3, table=ROWS) == []


def test_an_answer_that_is_no_label_cannot_be_written() -> None:
    with pytest.raises(RequestError, match=r"x\.jsonl, id 3: found 'angry'; expected one of the task's labels"):
        MOODS.write("x.jsonl", Answers(["sad", "angry", "sad"], ROWS))
    with pytest.raises(RequestError, match="expected one of the task's labels: 0 or 1"):
        NUMBERS.write("x.jsonl", Answers([0, 2, 1], ROWS))


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"yes"', '"glad"', "x:1: found '\"glad\"'; expected no or yes: write yes for glad."),
        ('"yes"', "1", "x:1: found '1'; expected a text, in quotes."),
        ('"idx": 3', '"idx": 7', "x:2: found '7'; this id is there already"),
        ('"idx": 3', '"idx": "3"', "x: no answer to 3; every id of the rows must be there."),
        ('"idx": 3', '"idx": 4', "x:2: found '4'; no row has this id; this may be an answer to other rows."),
        ('"idx": 3', '"idx": true', "x:2: found 'true'; expected an id: a whole number or a text."),
        ('"idx"', '"id"', "x:1: found "),
        ('"yes"}', '"yes", "label": "no"}', "expected a JSON object with the keys 'idx' and 'label' alone"),
        ('"yes"}', '"yes"', "x:1: found "),
        ('{"idx": 7, "label": "yes"}', "[]", "x:1: found '[]'; expected a JSON object with the keys"),
        ('{"idx": 7, "label": "yes"}', "9" * 5000, "x:1: found '9999"),
        ('{"idx": 7, "label": "yes"}', "[" * 5000, "x:1: found '[[[["),
        ('{"idx": 7, "label": "yes"}\n', "", "x: 2 answers, expected 3."),
    ],
)
def test_a_fault_is_named(old: str, new: str, fault: str) -> None:
    assert old in GOOD
    faults = MOODS.check("x", GOOD.replace(old, new, 1).encode(), 3, table=ROWS)
    assert any(fault in sentence for sentence in faults), faults


def test_numbers_are_not_true_and_false() -> None:
    assert NUMBERS.check("x", b'{"idx": 7, "label": true}\n', 1) == ["x:1: found 'true'; expected 0 or 1."]
    assert NUMBERS.check("x", b'{"idx": 7, "label": 1.0}\n', 1) == ["x:1: found '1.0'; expected 0 or 1."]


def test_a_board_file_may_hold_json_lines(tmp_path: Path) -> None:
    file = '\n[[file]]\nname = "x.jsonl"\nkind = "jsonl"\ncolumn = "idx"\nkeys = ["idx", "label"]\n'
    file += 'task = "mine/x"\nsplit = "test"\nrows = 3\nlabels = {sad = "no", glad = "yes"}\n'
    assert read_board(tmp_path, BOARD_TOML + file).files[-1].kind == MOODS
    file = file.replace('keys = ["idx", "label"]\n', "")
    assert read_board(tmp_path, BOARD_TOML + file).files[-1].kind == MOODS


def test_kinds_that_cannot_be_are_refused() -> None:
    with pytest.raises(PluginError, match="two different keys"):
        JsonLines("idx", Text(), keys=("id", "id"))
    with pytest.raises(PluginError, match="Two labels share one text"):
        Labels({"a": 1, "b": 1})
