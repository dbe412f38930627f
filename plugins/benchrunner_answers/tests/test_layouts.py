"""Answers in files of any layout: matched with their rows, parsed, and refused with their place."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import inline
from benchrunner import ACCURACY, Classify, DataError, Metric, Rows, Split, Task, TextTable
from benchrunner_answers.layouts import answers_in, labels_by_text
from benchrunner_kinds import Span, Tag
from benchrunner_submit import BoardFile, Labels, Leaderboard, Table

COLUMNS = {"a": "text", "label": "mood"}


def task(problem: Any = None, labels: dict[str, str] | None = None) -> Task:
    train = Split("train", (TextTable("train.tsv", COLUMNS, labels={"-": "sad", "+": "glad"}),))
    dev = Split("dev", (TextTable("dev.tsv", COLUMNS, labels=labels or {}),))
    metric = ACCURACY if problem is None else Metric("equal", lambda gold, said: float(gold == said))
    return Task("mine/mood", "", problem or Classify(("sad", "glad")), {"train": train, "dev": dev}, (metric,))


def board(**texts: str) -> Leaderboard:
    files = (BoardFile("Mood.tsv", "mine/mood", "test", 4, Table(("index", "prediction"), Labels(texts))),)
    return Leaderboard("moods", "Moods", "https://moods.example", "moods.zip", files)


PLUGINS = inline.plugins(register_leaderboards=[board(sad="0", glad="1")])
ROWS = Rows(pa.table({"a": list("wxyz"), "id": list("hijk")}), "dev.tsv")


def read(
    folder: Path, content: str | bytes, name: str = "mine.tsv", rows: Rows = ROWS, asked: Task | None = None
) -> Any:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return answers_in(path, asked or task(), rows, PLUGINS)


LAYOUTS = {
    "by index": ("mine.tsv", "index\tprediction\n0\tsad\n1\tglad\n2\tsad\n3\tsad\n"),
    "in any order": ("mine.tsv", "index\tprediction\n3\tsad\n2\tsad\n1\tglad\n0\tsad"),
    "in a board's spelling": ("mine.tsv", "index\tprediction\r\n0\t0\r\n1\t1\r\n2\t0\r\n3\tsad\r\n"),
    "one a line": ("mine.txt", "\ufeffsad\nglad\nsad\nsad\n"),
    "one a line in the data's spelling": ("mine.tsv", "-\n+\n-\n-"),
    "by the ids of the rows": ("mine.csv", "id,label,prediction\nk,glad,sad\nj,sad,sad\ni,sad,glad\nh,sad,sad\n"),
    "without ids": ("mine.csv", "text,prediction\nw,sad\nx,glad\ny,sad\nz,sad\n"),
    "by the column that the rows have": ("mine.csv", "index,id,prediction\n0,k,sad\n1,j,sad\n2,i,glad\n3,h,sad\n"),
    "beside a confidence": ("mine.csv", "id,prediction,score\nh,sad,0.9\ni,glad,0.8\nj,sad,0.7\nk,sad,0.6\n"),
    "JSON lines named .json": (
        "mine.json",
        "".join(f'{{"id": "{row}", "answer": "sad"}}\n' for row in "hjk") + '{"id": "i", "answer": "glad"}\n',
    ),
    "an object by id": ("mine.json", json.dumps({"h": "sad", "j": "sad", "i": "glad", "k": "sad"})),
    "JSON lines": ("mine.jsonl", "".join(f'{{"idx": {row}, "label": {row % 2 * (row < 2)}}}\n' for row in range(4))),
}


@pytest.mark.parametrize(("name", "content"), LAYOUTS.values(), ids=LAYOUTS)
def test_answers_are_read_in_the_order_of_the_rows(tmp_path: Path, name: str, content: str) -> None:
    assert read(tmp_path, content, name) == ["sad", "glad", "sad", "sad"]


def test_a_parquet_file_is_read_by_id(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({"index": [1, 0, 2, 3], "prediction": ["glad", "sad", "sad", "sad"]}), tmp_path / "x.parquet"
    )
    assert answers_in(tmp_path / "x.parquet", task(), ROWS, PLUGINS) == ["sad", "glad", "sad", "sad"]


TAGGED = "-DOCSTART- O O\n\nUN B-ORG B-ORG\nmet O O\n\nRome B-LOC B-PER\n"


def test_tags_are_read_by_word_and_their_words_compared(tmp_path: Path) -> None:
    rows = Rows(pa.table({"words": [["UN", "met"], ["Rome"]]}), "eng.testa", [3, 6])
    asked = task(Tag(("O", "B-ORG", "B-LOC", "B-PER")))
    assert read(tmp_path, TAGGED, "tags.txt", rows, asked) == [["B-ORG", "O"], ["B-PER"]]
    with pytest.raises(
        DataError, match=r"tags.txt:6: the sentence 'Paris' answers another row than eng.testa:6, 'Rome'"
    ):
        read(tmp_path, TAGGED.replace("Rome", "Paris"), "tags.txt", rows, asked)


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_empty_answers_at_the_end_of_a_file_are_answers(tmp_path: Path, end: str) -> None:
    rows = Rows(pa.table({"id": ["1", "2", "3"]}), "dev.json")
    assert read(tmp_path, f"oak\n\n\n{end}", "a.txt", rows, task(Span(unanswerable=True))) == ["oak", "", ""]


FAULTS: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "the file is empty"),
    "binary": (b"PK\x03\x04\n\xff", "mine.tsv:2: not UTF-8 text (invalid start byte)"),
    "index": ("index\tprediction\none\tsad\n", "mine.tsv:2: no row of dev.tsv has the id 'one'."),
    "twice": ("index\tprediction\n1\tsad\n1\tsad\n", "mine.tsv:3: the id '1' was there before, at "),
    "missing": ("index\tprediction\n0\tsad\n1\tsad\n3\tsad\n", "mine.tsv: no answer to 1 of 4 rows: 2."),
    "too many": ("sad\n" * 5, "mine.tsv: 5 answers in the order of the rows, and dev.tsv has 4 rows."),
    "label": ("sad\nsad\nblue\nsad\n", "mine.tsv:3: found 'blue'; expected one of sad, glad (or, as files spell them"),
    "gold labels": (
        "text\tlabel\nw\tsad\n",
        "mine.tsv: no column with answers, such as prediction; it has text",
    ),
    "right answers": ("id\ta\tanswer\nh\tw\tsad\n", "mine.tsv: no column with answers, such as prediction; it has id"),
    "no answers": ('{"text": "w"}\n{"text": "x"}\n', "mine.tsv: no column with answers, such as prediction; it has"),
}


@pytest.mark.parametrize(("content", "said"), FAULTS.values(), ids=FAULTS)
def test_a_fault_in_a_file_is_told_with_its_line(tmp_path: Path, content: str | bytes, said: str) -> None:
    with pytest.raises(DataError) as raised:
        read(tmp_path, content)
    assert said in str(raised.value)


def test_spellings_come_from_the_boards_and_from_the_data_files() -> None:
    assert labels_by_text(task(), PLUGINS) == {"0": "sad", "1": "glad", "-": "sad", "+": "glad"}
    assert labels_by_text(task(labels={"0": "glad", "2": "sad"}), PLUGINS) == {
        "1": "glad",
        "2": "sad",
        "-": "sad",
        "+": "glad",
    }
