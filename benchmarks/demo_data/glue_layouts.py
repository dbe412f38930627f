"""The layout of the files of the demo data sets: that of the official files, with fewer rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """The files of one folder: their columns, their names and their quirks."""

    folder: str
    columns: str
    """Columns of the train and dev files, separated by '|'."""
    test_columns: str
    """Columns of the test files, separated by '|'."""
    files: tuple[tuple[str, int], ...] = (("train", 500), ("dev", 120), ("test", 100))
    """Names of the files, without .tsv, with their numbers of rows. Train is the first."""
    byte_order_mark: bool = False
    """Whether train and dev begin with a byte order mark."""
    no_header: bool = False
    """Whether train and dev have no header line."""


_MNLI_TEXTS = (
    "index|promptID|pairID|genre|sentence1_binary_parse|sentence2_binary_parse|sentence1_parse|sentence2_parse"
    "|sentence1|sentence2"
)
_STSB_TEXTS = "index|genre|filename|year|old_index|source1|source2|sentence1|sentence2"
_MNLI_FILES = (
    ("train", 600),
    ("dev_matched", 120),
    ("dev_mismatched", 120),
    ("test_matched", 100),
    ("test_mismatched", 100),
)

LAYOUTS: Mapping[str, tuple[Layout, ...]] = {
    "cola": (
        Layout(
            folder="CoLA",
            columns="source|label|star|sentence",
            test_columns="index|sentence",
            files=(("train", 600), ("dev", 120), ("test", 100)),
            no_header=True,
        ),
    ),
    "sst2": (Layout(folder="SST-2", columns="sentence|label", test_columns="index|sentence"),),
    "mrpc": (
        Layout(
            folder="MRPC",
            columns="Quality|#1 ID|#2 ID|#1 String|#2 String",
            test_columns="index|#1 ID|#2 ID|#1 String|#2 String",
            byte_order_mark=True,
        ),
    ),
    "stsb": (Layout(folder="STS-B", columns=f"{_STSB_TEXTS}|score", test_columns=_STSB_TEXTS),),
    "qqp": (
        Layout(
            folder="QQP",
            columns="id|qid1|qid2|question1|question2|is_duplicate",
            test_columns="id|question1|question2",
        ),
    ),
    "mnli": (
        Layout(
            folder="MNLI",
            columns=f"{_MNLI_TEXTS}|label1|gold_label",
            test_columns=_MNLI_TEXTS,
            files=_MNLI_FILES,
        ),
        Layout(
            folder="diagnostic",
            columns="",
            test_columns="index|sentence1|sentence2",
            files=(("diagnostic", 100),),
        ),
    ),
    "qnli": (Layout(folder="QNLI", columns="index|question|sentence|label", test_columns="index|question|sentence"),),
    "rte": (Layout(folder="RTE", columns="index|sentence1|sentence2|label", test_columns="index|sentence1|sentence2"),),
    "wnli": (
        Layout(
            folder="WNLI",
            columns="index|sentence1|sentence2|label",
            test_columns="index|sentence1|sentence2",
            files=(("train", 400), ("dev", 100), ("test", 100)),
        ),
    ),
}
"""Task -> the layout of each of its folders."""
