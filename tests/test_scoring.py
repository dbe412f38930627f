"""Anybody's prediction file against labelled rows."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from benchrunner.boardfiles.table import Table
from benchrunner.errors import DataError
from benchrunner.leaderboards import BoardFile, Leaderboard
from benchrunner.metrics import ACCURACY, PEARSON, Score, f1
from benchrunner.problems import Problem
from benchrunner.problems.classify import Classify
from benchrunner.problems.regress import Regress
from benchrunner.scoring import score_file, spellings_of
from benchrunner.sources import Rows, TextTable
from benchrunner.spellings import Labels, Number
from benchrunner.tasks import Split, Task

COLUMNS = {"a": "text", "label": "mood"}
TRAIN = Split("train", (TextTable("train.tsv", COLUMNS, labels={"-": "sad", "+": "glad"}),))


def task(problem: Problem | None = None, labels: dict[str, str] | None = None) -> Task:
    dev = Split("dev", (TextTable("dev.tsv", COLUMNS, labels=labels or {}),))
    metrics = (ACCURACY, f1("glad")) if problem is None else (PEARSON,)
    return Task("mine/mood", "", problem or Classify(("sad", "glad")), {"train": TRAIN, "dev": dev}, metrics)


def board(**texts: str) -> Leaderboard:
    kind = Table(("index", "prediction"), Labels(texts) if texts else Number(0, 5, 3))
    files = (BoardFile("Mood.tsv", "mine/mood", "test", 4, kind),)
    return Leaderboard("moods", "Moods", "https://moods.example", "moods.zip", files)


ROWS = Rows(pa.table({"a": list("wxyz"), "label": ["sad", "glad", "glad", "sad"]}), "dev.tsv")


def file(folder: Path, content: str | bytes) -> Path:
    path = folder / "mine.tsv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        "index\tprediction\n0\tsad\n1\tglad\n2\tsad\n3\tsad\n",
        "index\tprediction\n3\tsad\n2\tsad\n1\tglad\n0\tsad",
        "index\tprediction\r\n0\t0\r\n1\t1\r\n2\t0\r\n3\tsad\r\n",
        "\ufeffsad\nglad\nsad\nsad\n",
        "0\n1\n0\n0",
    ],
    ids=["by index", "in any order", "in a board's spelling", "one a line", "one a line in a board's spelling"],
)
def test_a_file_is_scored_with_the_metrics_of_the_task(tmp_path: Path, content: str) -> None:
    scores = score_file(task(), ROWS, file(tmp_path, content), spellings={"0": "sad", "1": "glad"})
    assert scores == {"accuracy": Score(0.75), "f1": Score(2 / 3)}


FAULTS: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "mine.tsv: the file is empty."),
    "binary": (b"PK\x03\x04\n\xff", "mine.tsv:2: not UTF-8 text; is it a text file? Unpack archives first."),
    "header": ("id\tlabel\n0\tsad\n", "mine.tsv:1: expected the header 'index<TAB>prediction', found 'id\\tlabel'."),
    "columns": ("index\tprediction\n0\tsad\tx\n", "mine.tsv:2: expected index<TAB>prediction, found '0\\tsad\\tx'."),
    "blank": ("index\tprediction\n0\tsad\n\n1\tsad\n", "mine.tsv:3: expected index<TAB>prediction, found ''."),
    "index": ("index\tprediction\none\tsad\n", "mine.tsv:2: expected an index from 0 to 3, found 'one'."),
    "too far": ("index\tprediction\n4\tsad\n", "mine.tsv:2: expected an index from 0 to 3, found '4'."),
    "twice": (
        "index\tprediction\n1\tsad\n1\tsad\n",
        "mine.tsv:3: index 1 stands on line 2 already; each must stand once.",
    ),
    "missing": (
        "index\tprediction\n0\tsad\n1\tsad\n3\tsad\n",
        "mine.tsv: 3 answers, expected 4, one for each row. The first without an answer is row 2.",
    ),
    "too many": ("sad\n" * 5, "mine.tsv: 5 answers, expected 4, one for each row."),
    "label": (
        "sad\nsad\nblue\nsad\n",
        "mine.tsv:3: found 'blue'; expected one of sad, glad (or, as files spell them, 0, 1).",
    ),
    "bad spelling": ("sad\nsad\n9\nsad\n", "mine.tsv:3: found '9'; expected one of sad, glad"),
}


@pytest.mark.parametrize(("content", "said"), FAULTS.values(), ids=FAULTS)
def test_a_fault_in_a_file_is_told_with_its_line(tmp_path: Path, content: str | bytes, said: str) -> None:
    spellings = {"0": "sad", "1": "glad"} | ({"9": "furious"} if content == FAULTS["bad spelling"][0] else {})
    with pytest.raises(DataError, match=re.escape(said)):
        score_file(task(), ROWS, file(tmp_path, content), spellings=spellings)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none.tsv: cannot be read: No such file"):
        score_file(task(), ROWS, tmp_path / "none.tsv")


def test_rows_without_labels_cannot_score_anything(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"test.tsv: these rows have no labels"):
        score_file(task(), Rows(pa.table({"a": ["x"]}), "test.tsv"), file(tmp_path, "sad\n"))


def test_a_score_that_does_not_exist_is_absent_with_its_reason(tmp_path: Path) -> None:
    rows = Rows(pa.table({"a": ["x", "y"], "label": [1.0, 2.0]}), "dev.tsv")
    scores = score_file(task(Regress(0, 5)), rows, file(tmp_path, "3\n3\n"))
    assert scores["pearson"].value is None and "all predictions are the same" in scores["pearson"].reason


@pytest.mark.parametrize("text", ["warm", "nan", "inf", ""])
def test_what_is_no_number_is_told(tmp_path: Path, text: str) -> None:
    rows = Rows(pa.table({"a": ["x", "y"], "label": [1.0, 2.0]}), "dev.tsv")
    with pytest.raises(DataError, match=f"mine.tsv:2: found '{text}'; expected"):
        score_file(task(Regress(0, 5)), rows, file(tmp_path, f"index\tprediction\n0\t{text}\n1\t2\n"))


def test_spellings_come_from_the_boards_and_from_the_data_files() -> None:
    found = spellings_of(task(), [board(sad="0", glad="1")])
    assert found == {"0": "sad", "1": "glad", "-": "sad", "+": "glad"}


def test_a_text_that_two_mean_differently_stands_for_nothing() -> None:
    found = spellings_of(task(labels={"0": "glad", "2": "sad"}), [board(sad="0", glad="1")])
    assert found == {"1": "glad", "2": "sad", "-": "sad", "+": "glad"}


def test_numbers_have_no_spellings() -> None:
    other = Task("mine/other", "", Regress(0, 5), {"train": Split("train", ())}, (PEARSON,))
    assert spellings_of(other, [board(sad="0", glad="1")]) == {}
    assert spellings_of(task(), [board()]) == {"-": "sad", "+": "glad"}
