"""Files of words in columns: tags of any kind, documents, encodings, and an error for each kind of fault."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from benchrunner import DataError, PluginError, Rows, Tag, WordColumns, Workspace

POS = WordColumns("t.txt", {"words": 0, "labels": 1})


def read(source: Any, folder: Path, content: str | bytes) -> Rows:
    (folder / "t.txt").write_bytes(content.encode() if isinstance(content, str) else content)
    rows: Rows = source.read(Workspace(runs=folder / "runs", cache=folder / "cache", data=folder))
    return rows


def error(source: WordColumns, folder: Path, content: str | bytes) -> str:
    with pytest.raises(DataError) as caught:
        read(source, folder, content)
    return str(caught.value).replace(f"{folder}{os.sep}", "")


@pytest.mark.parametrize(
    "content",
    [
        "the DET\ncat NOUN\n\nsleeps VERB\n",
        "\ufeffthe\tDET\r\ncat\tNOUN\r\n\r\nsleeps\tVERB",
        "\n\n the   DET \ncat \t NOUN\n \t \n\nsleeps VERB\n\n\n",
    ],
)
def test_tags_of_any_kind_are_read(content: str, tmp_path: Path) -> None:
    rows = read(POS, tmp_path, content)
    assert rows.table.to_pydict() == {"words": [["the", "cat"], ["sleeps"]], "labels": [["DET", "NOUN"], ["VERB"]]}
    assert Tag(("DET", "NOUN", "VERB")).check(rows, labelled=True).num_rows == 2


def test_columns_are_counted_from_both_ends(tmp_path: Path) -> None:
    source = WordColumns("t.txt", {"words": 0, "pos": -2, "labels": -1}, iob=True)
    rows = read(source, tmp_path, "New x NNP I-LOC\nYork x NNP I-LOC\nBergen x NNP B-LOC\n")
    assert rows.table.to_pydict() == {
        "words": [["New", "York", "Bergen"]],
        "pos": [["NNP"] * 3],
        "labels": [["B-LOC", "I-LOC", "B-LOC"]],
    }


def test_a_file_in_conll_u_is_read(tmp_path: Path) -> None:
    source = WordColumns("t.txt", {"words": 1, "labels": 3}, separator="\t", ignored="#|[0-9]+[-.]")
    lines = ["# text = vámonos al mar", "1-2\tvámonos\t_\t_", "1\tvamos\tir\tVERB", "2\tnos\tnosotros\tPRON"]
    lines += ["2.1\tx\tx\tX", "3\tal mar\tal mar\tNOUN", ""]
    rows = read(source, tmp_path, "\n".join(lines) + "\n")
    assert rows.table.to_pydict() == {
        "words": [["vamos", "nos", "al mar"]],
        "labels": [["VERB", "PRON", "NOUN"]],
    }
    assert rows.lines == [3]


def test_borders_number_the_documents(tmp_path: Path) -> None:
    rows = read(POS, tmp_path, "-DOCSTART- O\n\na X\n\nb X\n-DOCSTART- O\nc X\n")
    assert rows.table.column("document").to_pylist() == [0, 0, 1]
    rows = read(POS, tmp_path, "a X\n\n-DOCSTART- O\n\nc X\n")
    assert rows.table.column("document").to_pylist() == [0, 1]
    assert "document" not in read(POS, tmp_path, "a X\n").table.column_names


def test_the_first_encoding_that_fits_is_used(tmp_path: Path) -> None:
    both = WordColumns("t.txt", {"words": 0, "labels": 1}, encoding=("utf-8", "latin-1"))
    for encoding in ("utf-8", "latin-1"):
        assert read(both, tmp_path, "España X\n".encode(encoding)).table.column("words").to_pylist() == [["España"]]
    latin = WordColumns("t.txt", {"words": 0, "labels": 1}, encoding="latin-1")
    assert read(latin, tmp_path, "España X\n".encode("latin-1")).table.column("words").to_pylist() == [["España"]]
    assert error(POS, tmp_path, "a X\nEspaña X\n".encode("latin-1")).startswith("t.txt:2: not UTF-8 text")


def test_an_unlabelled_file_needs_no_labels(tmp_path: Path) -> None:
    unlabelled = WordColumns("t.txt", iob=True).unlabelled(("labels",))
    assert read(unlabelled, tmp_path, "a\nb\n").table.to_pydict() == {"words": [["a", "b"]]}


@pytest.mark.parametrize(
    ("source", "content", "expected"),
    [
        (POS, "", "t.txt:1: no sentences; expected a word and its tags on each line."),
        (POS, "a\n", "t.txt:1: found 1 columns; 2 or more were expected."),
        (POS, "a X\nb X Y\n", "t.txt:2: expected 2 columns as on line 1, found 3."),
        (WordColumns("t.txt", iob=True), "a X\n", "t.txt:1: found the tag 'X'; expected O, B-TYPE or I-TYPE."),
    ],
)
def test_a_fault_is_told_with_its_line(source: WordColumns, content: str, expected: str, tmp_path: Path) -> None:
    assert error(source, tmp_path, content) == expected


def test_sources_that_cannot_be_are_refused() -> None:
    with pytest.raises(PluginError, match="no encoding 'latn'"):
        WordColumns("t.txt", encoding=("utf-8", "latn"))
    with pytest.raises(PluginError, match="ignored is no regular expression: '\\['"):
        WordColumns("t.txt", ignored="[")
    with pytest.raises(PluginError, match="one column or more"):
        WordColumns("t.txt", {})
