"""Files of words in columns: tags of any kind, documents, encodings, and an error for each kind of fault."""

import os
from pathlib import Path
from typing import Any

import pytest

from benchrunner import DataError, PluginError, Rows, Workspace
from benchrunner_kinds import Tag, WordColumns

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
    assert read(unlabelled, tmp_path, "a\nb\n\nc\n").table.to_pydict() == {
        "words": [["a", "b"], ["c"]],
        "document": [0, 0],  # a user's own file without borders is one document
    }
    bordered = read(unlabelled, tmp_path, "a\n\n-DOCSTART-\n\nb\n")
    assert bordered.table.column("document").to_pylist() == [0, 1]


def test_only_blanks_and_tabs_separate_columns(tmp_path: Path) -> None:
    words = [f"a{mark}b" for mark in "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\u00a0"]
    rows = read(POS, tmp_path, "".join(f"{word} \t X\n" for word in words))
    assert rows.table.column("words").to_pylist() == [words]


def test_files_of_several_layouts_are_told_by_their_width(tmp_path: Path) -> None:
    columns = {"words": 0, "pos": 1, "labels": 2}
    source = WordColumns("t.txt", columns, layouts=(("words", "pos", "labels"), ("words", "more", "more", "labels")))
    assert read(source, tmp_path, "a N X\n").table.to_pylist() == [{"words": ["a"], "pos": ["N"], "labels": ["X"]}]
    assert read(source, tmp_path, "a N Y X\n").table.to_pylist() == [{"words": ["a"], "labels": ["X"]}]
    unlabelled = read(source.unlabelled(("labels",)), tmp_path, "a N X\n").table
    assert unlabelled.to_pylist() == [{"words": ["a"], "pos": ["N"], "document": 0}]
    assert "found 2 columns; expected words more more labels, or words pos labels" in error(source, tmp_path, "a N\n")


def test_the_scheme_of_iob_tags_is_told(tmp_path: Path) -> None:
    source = WordColumns("t.txt", iob=True)
    assert read(source, tmp_path, "a I-X\n").notes == ("tags are in IOB1, read as IOB2",)
    assert read(source, tmp_path, "a B-X\n").notes == ("tags are in IOB2",)
    both = "a B-X\n\nb I-X\n"
    assert read(source, tmp_path, both).notes == ("tags are in IOB1 and IOB2, read as IOB2",)
    assert read(source, tmp_path, both).table.column("labels").to_pylist() == [["B-X"], ["B-X"]]


@pytest.mark.parametrize("control", ["\x00", "\x1b", "\x7f", "\x9b"])
def test_control_characters_are_refused(control: str, tmp_path: Path) -> None:
    message = error(POS, tmp_path, f"a X\nb{control} X\n")
    assert message.startswith("t.txt:2: ") and message.isprintable()


def test_line_ends_of_old_macs_are_refused(tmp_path: Path) -> None:
    """All lines would be one: one word, whose tag is the last field of the file."""
    for text in ("a X\rb X\r\rc X\r", "a X\n\nb X\rc X\n"):
        for source in (POS, WordColumns("t.txt", separator="\t")):
            assert "a carriage return inside the line; end lines as on" in error(source, tmp_path, text)
    assert read(POS, tmp_path, b"a X\r\nb X\r\n").table.column("words").to_pylist() == [["a", "b"]]


def test_bytes_of_windows_are_read_as_latin_1(tmp_path: Path) -> None:
    rows = read(WordColumns("t.txt", encoding=("utf-8", "latin-1")), tmp_path, b"l\x92eau X\xe9\n")
    assert rows.table.column("words").to_pylist() == [["l\x92eau"]]


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


@pytest.mark.timeout(20)
def test_no_pattern_of_ignored_lines_takes_long(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("a" * 5_000 + "\tO\n# a remark\nb\tO\n")
    source = WordColumns(str(tmp_path / "t.txt"), ignored="(a+)+b|(a|a)*c|#", separator="\t", is_in_data_folder=False)
    rows = source.read(Workspace(tmp_path, tmp_path))
    assert [len(words) for words in rows.table.column("words").to_pylist()] == [2]
    with pytest.raises(PluginError, match="one column or more"):
        WordColumns("t.txt", {})
