"""Prediction files of any system, read and scored against labelled rows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from benchrunner.data.delimited import TextTable
from benchrunner.data.rows import Rows
from benchrunner.errors import DataError
from benchrunner.metrics import Metric, Score
from benchrunner.metrics.metric import ACCURACY
from benchrunner.problems.problem import Problem
from benchrunner.problems.sentences import Classify, Regress
from benchrunner.tasks.task import Split, Task
from benchrunner_audit.audit import AuditedFile, audit_files
from benchrunner_audit.prediction_files import labels_by_text, read_lines
from benchrunner_audit.question import Question
from benchrunner_kinds import Span
from benchrunner_submit import BoardFile, Leaderboard
from benchrunner_submit.file_kinds.spellings import Labels, Number
from benchrunner_submit.file_kinds.text_files import Table
from benchrunner_tasks import PEARSON, f1

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


def audited(asked: Task, rows: Rows, path: Path, spellings: Mapping[str, str] | None = None) -> AuditedFile:
    """Audit a file that answers the rows."""
    [file] = audit_files([path], Question(asked.problem, spellings or {}, asked, rows)).files
    return file


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
    found = audited(task(), ROWS, file(tmp_path, content), {"0": "sad", "1": "glad"})
    assert found.scores == {"accuracy": Score(0.75), "f1": Score(2 / 3)} and not found.fault


FAULTS: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "mine.tsv: the file is empty."),
    "binary": (b"PK\x03\x04\n\xff", "mine.tsv:2: not UTF-8 text (invalid start byte); is it a text file?"),
    "header": ("id\tlabel\n0\tsad\n", "mine.tsv:1: expected the header 'index<TAB>prediction', found 'id\\tlabel'."),
    "columns": ("index\tprediction\n0\tsad\tx\n", "mine.tsv:2: expected index<TAB>prediction, found '0\\tsad\\tx'."),
    "blank": ("index\tprediction\n0\tsad\n\n1\tsad\n", "mine.tsv:3: expected index<TAB>prediction, found ''."),
    "index": ("index\tprediction\none\tsad\n", "mine.tsv:2: expected an index from 0 to 3, found 'one'."),
    "too far": ("index\tprediction\n4\tsad\n", "mine.tsv:2: expected an index from 0 to 3, found '4'."),
    "twice": ("index\tprediction\n1\tsad\n1\tsad\n", "mine.tsv:3: index 1 stands on line 2 already; each must stand"),
    "missing": (
        "index\tprediction\n0\tsad\n1\tsad\n3\tsad\n",
        "mine.tsv: 3 answers; expected 4, one for each row.",
    ),
    "too many": ("sad\n" * 5, "mine.tsv: 5 answers, one on each line; expected 4, one for each row."),
    "label": ("sad\nsad\nblue\nsad\n", "mine.tsv:3: found 'blue'; expected one of sad, glad (or, as files spell them"),
    "bad spelling": ("sad\nsad\n9\nsad\n", "mine.tsv:3: found '9'; expected one of sad, glad"),
}


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_empty_answers_at_the_end_of_a_file_are_answers(tmp_path: Path, end: str) -> None:
    table = pa.table({"id": ["1", "2", "3"], "answers": [["oak"], [], []]})
    right = [["oak"], [], []], ["oak", "", ""]
    asked = replace(task(Span(unanswerable=True)), metrics=(Metric("exact", lambda *both: float(both == right)),))
    assert audited(asked, Rows(table, "dev.json"), file(tmp_path, f"oak\n\n\n{end}")).scores == {"exact": Score(1.0)}


@pytest.mark.parametrize(("content", "said"), FAULTS.values(), ids=FAULTS)
def test_a_fault_in_a_file_is_told_with_its_line(tmp_path: Path, content: str | bytes, said: str) -> None:
    spellings = {"0": "sad", "1": "glad"} | ({"9": "furious"} if content == FAULTS["bad spelling"][0] else {})
    found = audited(task(), ROWS, file(tmp_path, content), spellings)
    assert said in found.fault and not found.scores


def test_an_answer_not_fitting_its_row_is_reported_with_the_file(tmp_path: Path) -> None:
    def compute(gold: Sequence[object], said: Sequence[object]) -> float:
        raise DataError("Row 0 has 3 words, but 1 tags were predicted for it.")

    found = audited(replace(task(), metrics=(Metric("f1", compute),)), ROWS, file(tmp_path, "sad\n" * 4))
    assert "mine.tsv: Row 0 has 3 words" in found.fault


def test_spellings_equal_to_the_labels_are_not_listed_twice(tmp_path: Path) -> None:
    found = audited(task(), ROWS, file(tmp_path, "sad\nsad\nblue\nsad\n"), {"sad": "sad", "glad": "glad"})
    assert found.fault.endswith("expected one of sad, glad.")


def test_a_score_that_does_not_exist_is_absent_with_its_reason(tmp_path: Path) -> None:
    rows = Rows(pa.table({"a": ["x", "y"], "label": [1.0, 2.0]}), "dev.tsv")
    scores = audited(task(Regress(0, 5)), rows, file(tmp_path, "3\n3\n")).scores
    assert scores["pearson"].value is None and "all predictions are the same" in scores["pearson"].reason


@pytest.mark.parametrize("text", ["warm", "nan", "inf", ""])
def test_what_is_no_number_is_told(tmp_path: Path, text: str) -> None:
    rows = Rows(pa.table({"a": ["x", "y"], "label": [1.0, 2.0]}), "dev.tsv")
    found = audited(task(Regress(0, 5)), rows, file(tmp_path, f"index\tprediction\n0\t{text}\n1\t2\n"))
    assert f"mine.tsv:2: found '{text}'; expected" in found.fault


def test_spellings_come_from_the_boards_and_from_the_data_files() -> None:
    labels = labels_by_text(task(), [board(sad="0", glad="1")])
    assert labels == {"0": "sad", "1": "glad", "-": "sad", "+": "glad"}


def test_a_text_that_two_mean_differently_stands_for_nothing() -> None:
    labels = labels_by_text(task(labels={"0": "glad", "2": "sad"}), [board(sad="0", glad="1")])
    assert labels == {"1": "glad", "2": "sad", "-": "sad", "+": "glad"}


def test_numbers_have_no_spellings() -> None:
    graded = Task("mine/other", "", Regress(0, 5), {"train": Split("train", ())}, (PEARSON,))
    assert labels_by_text(graded, [board(sad="0", glad="1")]) == {}
    assert labels_by_text(task(), [board()]) == {"-": "sad", "+": "glad"}


def test_a_file_is_read_without_knowing_the_number_of_rows(tmp_path: Path) -> None:
    assert read_lines(file(tmp_path, "sad\n\nglad\n\n")) == [(1, "sad"), (2, ""), (3, "glad"), (4, "")]
    indexed = "index\tprediction\n1\tsad\n0\tglad\n\n"
    assert read_lines(file(tmp_path, indexed)) == [(3, "glad"), (2, "sad")]
    with pytest.raises(DataError, match=re.escape(":3: expected an index from 0 to 1, found '2'")):
        read_lines(file(tmp_path, "index\tprediction\n0\tsad\n2\tglad\n"))
