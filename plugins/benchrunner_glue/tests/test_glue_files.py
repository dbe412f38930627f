"""Tiny files with the official files' quirks, bad files, and the real files where they are available."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from benchrunner import DataError, Workspace
from benchrunner_glue.table import tasks

TASKS = {task.name.removeprefix("glue/"): task for task in tasks()}
PARSES = "( a )\t( b )\t(ROOT a)\t(ROOT b)"
MNLI_HEAD = (
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse"
    "\tsentence1\tsentence2"
)
STSB_HEAD = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2"
STSB_ROW = "0\tmain-captions\tMSRvid\t2012test\t0001\tnone\tnone\tA plane.\tAn air plane."


def load(folder: Path, task: str, split: str, path: str, content: str) -> list[dict[str, object]]:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content.encode())
    rows: list[dict[str, object]] = TASKS[task].load(split, workspace(folder)).table.to_pylist()
    return rows


def workspace(folder: Path) -> Workspace:
    return Workspace(runs=folder / "runs", cache=folder / "cache", data=folder)


def test_cola_has_no_header_in_train_and_dev_and_one_in_test(tmp_path: Path) -> None:
    rows = load(tmp_path, "cola", "dev", "CoLA/dev.tsv", "gj04\t1\t\tHe left.\ngj04\t0\t*\tHe leaved.")
    assert rows == [{"a": "He left.", "label": "acceptable"}, {"a": "He leaved.", "label": "unacceptable"}]
    assert load(tmp_path, "cola", "test", "CoLA/test.tsv", "index\tsentence\n0\tHi.\n") == [{"a": "Hi."}]


def test_mrpc_begins_with_a_byte_order_mark_and_quotes_are_text(tmp_path: Path) -> None:
    head = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    rows = load(
        tmp_path, "mrpc", "train", "MRPC/train.tsv", f'{head}1\t7\t8\t" So it is .\tHe said " so .\n0\t1\t2\tA\tB\n'
    )
    assert rows == [
        {"a": '" So it is .', "b": 'He said " so .', "label": "equivalent"},
        {"a": "A", "b": "B", "label": "not_equivalent"},
    ]


def test_stsb_scores_are_numbers(tmp_path: Path) -> None:
    rows = load(tmp_path, "stsb", "train", "STS-B/train.tsv", f"{STSB_HEAD}\tscore\n{STSB_ROW}\t4.200\n")
    assert rows == [{"a": "A plane.", "b": "An air plane.", "label": 4.2}]


def test_broken_records_of_qqp_train_are_dropped_with_a_note(tmp_path: Path) -> None:
    head = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
    broken = '133\t1\t2\tWas he real?\n\n"\tIs there any evidence?\t0\n'
    content = f"{head}{broken}134\t3\t4\tWhy?\tHow come?\t1\n"
    assert load(tmp_path, "qqp", "train", "QQP/train.tsv", content) == [
        {"a": "Why?", "b": "How come?", "label": "duplicate"}
    ]
    notes = TASKS["qqp"].load("train", workspace(tmp_path)).notes
    assert notes[0] == "dropped 1 broken record(s), as the official file is known to hold (line 2)"


def test_a_qqp_test_file_counts_by_its_id(tmp_path: Path) -> None:
    head = "id\tquestion1\tquestion2\n"
    assert load(tmp_path, "qqp", "test", "QQP/test.tsv", f"{head}0\tA?\tB?\n") == [{"a": "A?", "b": "B?"}]
    with pytest.raises(DataError, match=r"QQP.test\.tsv:2: column 'id' must count the rows from 0"):
        load(tmp_path, "qqp", "test", "QQP/test.tsv", f"{head}1\tA?\tB?\n")


def test_mnlis_label_is_the_gold_label_among_several(tmp_path: Path) -> None:
    start = f"3\t31\t31n\tfiction\t{PARSES}\tP.\tH."
    judged = (
        f"{MNLI_HEAD}\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\tgold_label\n{start}\t" + "neutral\t" * 5 + "entailment\n"
    )
    expected = [{"a": "P.", "b": "H.", "label": "entailment"}]
    assert load(tmp_path, "mnli", "dev_matched", "MNLI/dev_matched.tsv", judged) == expected
    once = f"{MNLI_HEAD}\tlabel1\tgold_label\n{start}\tneutral\tentailment\n"
    assert load(tmp_path, "mnli", "train", "MNLI/train.tsv", once) == expected


@pytest.mark.parametrize("path", ["diagnostic/diagnostic.tsv", "AX/diagnostic.tsv", "glue/AX/test.tsv"])
def test_ax_has_several_searched_names(tmp_path: Path, path: str) -> None:
    rows = load(tmp_path, "mnli", "ax", path, "index\tsentence1\tsentence2\n0\tThe cat sat.\tIt did not.\n")
    assert rows == [{"a": "The cat sat.", "b": "It did not."}]


@pytest.mark.parametrize("root", ["", "glue/", "GLUE/", "glue_data/"])
def test_the_known_folders_are_searched(tmp_path: Path, root: str) -> None:
    content = "index\tquestion\tsentence\tlabel\n0\tWhen?\tIn 1848.\tentailment\n"
    rows = load(tmp_path, "qnli", "dev", f"{root}QNLI/dev.tsv", content)
    assert rows == [{"a": "When?", "b": "In 1848.", "label": "entailment"}]


def test_wnlis_zero_is_not_entailment(tmp_path: Path) -> None:
    rows = load(
        tmp_path, "wnli", "train", "WNLI/train.tsv", "index\tsentence1\tsentence2\tlabel\n0\tA\tB\t0\n9\tC\tD\t1\n"
    )
    assert [row["label"] for row in rows] == ["not_entailment", "entailment"]


RTE = "index\tsentence1\tsentence2\tlabel\n"


@pytest.mark.parametrize(
    ("task", "split", "path", "content", "message"),
    [
        ("rte", "train", "RTE/train.tsv", "", r"train\.tsv:1: the file is empty"),
        ("rte", "train", "RTE/train.tsv", RTE, r"train\.tsv: no rows"),
        ("rte", "train", "RTE/train.tsv", f"{RTE}0\tA\tB\n", r"train\.tsv:2: expected 4 columns, found 3"),
        ("rte", "train", "RTE/train.tsv", f"{RTE}0\tA\tB\tmaybe\n", r"tsv:2: label 'maybe' is not one of entailment,"),
        ("rte", "test", "RTE/test.tsv", f"{RTE}1\tA\tB\tx\n0\tA\tB\tx\n", r"test\.tsv:2: column 'index' must count"),
        ("cola", "train", "CoLA/train.tsv", "s\t2\t\tHi.\n", r"tsv:1: label '2' is not one of unacceptable,"),
        ("stsb", "dev", "STS-B/dev.tsv", f"{STSB_HEAD}\tscore\n{STSB_ROW}\t5.2\n", r"tsv:2: label '5\.2' is not a"),
        ("stsb", "dev", "STS-B/dev.tsv", f"{STSB_HEAD}\tscore\n{STSB_ROW}\tnan\n", r"tsv:2: label 'nan' is not a"),
        ("qqp", "test", "QQP/test.tsv", "id\tquestion1\tquestion2\n0\tA?\n", r"test\.tsv:2: expected 3 columns,"),
    ],
)
def test_a_bad_file_is_one_error_with_file_and_line(
    tmp_path: Path, task: str, split: str, path: str, content: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        load(tmp_path, task, split, path, content)


def real_data() -> Path:
    """Find the official files, which may not be redistributed; skips the test where they are missing."""
    named = os.environ.get("BENCHRUNNER_REAL_DATA")
    folder = (Path(named) if named else Path.home() / ".cache" / "benchrunner-real-data") / "glue"
    if not folder.is_dir():
        pytest.skip(f"no official GLUE files in {folder}: set BENCHRUNNER_REAL_DATA to the folder above glue/")
    return folder


@pytest.mark.parametrize(("task", "split"), [(name, split) for name, task in TASKS.items() for split in task.splits])
def test_the_official_files_have_the_official_counts(task: str, split: str) -> None:
    folder = real_data()
    files = TASKS[task].splits[split].sources[0]
    if not any((folder / path).is_file() for path in files.path):  # type: ignore[attr-defined]
        pytest.skip(f"{files.where(workspace(folder))} is not there")
    rows = TASKS[task].load(split, workspace(folder))
    assert len(rows) == TASKS[task].splits[split].rows
    assert rows.notes == ()


@pytest.mark.parametrize(
    ("task", "counts"),
    [
        ("cola", {"acceptable": 6023, "unacceptable": 2528}),
        ("sst2", {"positive": 37569, "negative": 29780}),
        ("mrpc", {"equivalent": 2474, "not_equivalent": 1194}),
        ("rte", {"entailment": 1249, "not_entailment": 1241}),
        ("wnli", {"not_entailment": 323, "entailment": 312}),
    ],
)
def test_the_official_labels_have_their_known_counts(task: str, counts: dict[str, int]) -> None:
    rows = TASKS[task].load("train", workspace(real_data()))
    assert Counter(rows.table.column("label").to_pylist()) == counts
