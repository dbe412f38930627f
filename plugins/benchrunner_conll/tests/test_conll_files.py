"""Column files with their quirks, bad files, the real files where they are available, and the hub's rows."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conll_on_hub import build
from conll_samples import real_rows, workspace

import forked
from benchrunner import DataError, PluginError, Rows
from benchrunner_conll import CONLL2003, Corpus
from hub_server import Hub

FOUR = ("words", "pos", "chunk", "labels")
TASK = CONLL2003.task()


def corpus(columns: tuple[str, ...] = ("words", "labels")) -> Corpus:
    return Corpus("mine/tweets", "Which persons do tweets name?", {}, ("LOC",), columns)


def read(folder: Path, content: str | bytes, columns: tuple[str, ...] = FOUR, *, labelled: bool = True) -> Rows:
    (folder / "file.txt").write_bytes(content if isinstance(content, bytes) else content.encode())
    source = corpus(columns).file("nowhere.txt", "file.txt")
    return (source if labelled else source.unlabelled(("labels",))).read(workspace(folder))


def test_four_columns_in_iob1_with_documents(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\nPeter NNP I-NP I-PER\n\n"
        "-DOCSTART- -X- O O\n\nLeeds NNP I-NP I-ORG\nPorto NNP I-NP B-ORG\n",
    )
    assert rows.table.to_pylist() == [
        {"words": ["EU", "rejects"], "pos": ["NNP", "VBZ"], "chunk": ["I-NP", "I-VP"], "labels": ["B-ORG", "O"]}
        | {"document": 0},
        {"words": ["Peter"], "pos": ["NNP"], "chunk": ["I-NP"], "labels": ["B-PER"], "document": 0},
        {"words": ["Leeds", "Porto"], "pos": ["NNP"] * 2, "chunk": ["I-NP"] * 2, "labels": ["B-ORG", "B-ORG"]}
        | {"document": 1},
    ]
    assert rows.lines == [3, 6, 10]
    assert rows.notes == ("tags are in IOB1, read as IOB2",)


def test_border_lines_may_be_missing_first_and_empty_last(tmp_path: Path) -> None:
    rows = read(tmp_path, "a N O O\n\n-DOCSTART- -X- O O\n\n-DOCSTART- -X- -X- O\n\nb N O O\n\n-DOCSTART- -X- O O")
    assert rows.table.column("document").to_pylist() == [0, 1]
    assert rows.notes == ("all tags are O",)


def test_a_border_line_ends_a_sentence_without_blank_lines(tmp_path: Path) -> None:
    rows = read(tmp_path, "a O\n-DOCSTART- O\nb O\n")
    assert rows.table.to_pydict() == {"words": [["a"], ["b"]], "labels": [["O"], ["O"]], "document": [0, 1]}


@pytest.mark.parametrize(
    "content",
    [
        "New B-LOC\nYork I-LOC\n\nis O\n",
        "New\tB-LOC\nYork\tI-LOC\n\nis\tO\n",
        "\ufeffNew B-LOC\r\nYork I-LOC\r\n\r\nis O\r\n",
        "\n\n New   B-LOC \nYork \t I-LOC\n \t \n\n\nis O",
    ],
)
def test_tabs_spaces_and_line_ends_of_any_kind_are_read(tmp_path: Path, content: str) -> None:
    rows = read(tmp_path, content)
    assert rows.table.to_pydict() == {"words": [["New", "York"], ["is"]], "labels": [["B-LOC", "I-LOC"], ["O"]]}
    assert rows.notes == ("tags are in IOB2",)


def test_a_file_may_have_no_labels_or_words_alone(tmp_path: Path) -> None:
    assert read(tmp_path, "a N O\n").table.to_pydict() == {"words": [["a"]], "pos": [["N"]], "chunk": [["O"]]}
    assert read(tmp_path, "a\nb\n\nc\n").table.to_pydict() == {"words": [["a", "b"], ["c"]]}
    assert read(tmp_path, "a nonsense\n", labelled=False).table.to_pydict() == {"words": [["a"]], "document": [0]}


def test_columns_may_stand_in_any_order(tmp_path: Path) -> None:
    rows = read(tmp_path, "1 Bonn B-LOC O\n", ("number", "words", "labels", "nested"))
    assert rows.table.to_pylist() == [{"number": ["1"], "words": ["Bonn"], "labels": ["B-LOC"], "nested": ["O"]}]
    with pytest.raises(PluginError, match="words and labels among them"):
        corpus(("words", "tags"))


def test_a_user_may_name_another_file(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("a X\n")
    mine = corpus().file("nowhere.txt").at(tmp_path / "mine.txt").unlabelled(("labels",))
    assert mine.read(workspace(tmp_path / "other")).table.to_pydict() == {"words": [["a"]], "document": [0]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"file\.txt:1: no sentences"),
        ("a N O O\nb N O\n", r"file\.txt:2: expected 4 columns as on line 1, found 3"),
        ("a b c d e\n", r"file\.txt:1: found 5 columns; expected words pos chunk labels, or words pos chunk, or"),
        ("a N O O\nb N O LOC\n", r"file\.txt:2: found the tag 'LOC'; expected O, B-TYPE or I-TYPE"),
        ("a N O S-LOC\n", r"file\.txt:1: found the tag 'S-LOC'"),
        (b"a N O O\nb\xe9 N O O\n", r"file\.txt:2: not UTF-8 text"),
    ],
)
def test_a_bad_file_is_one_error_with_file_and_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, content)


def test_a_type_outside_the_tasks_set_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "eng.testa").write_text("a N O O\n\nb N O O\nc N O I-GPE\n")
    with pytest.raises(DataError, match=r"eng\.testa:3: word 2 of this sentence has the label 'B-GPE', which is not"):
        TASK.load("dev", workspace(tmp_path))


@pytest.mark.parametrize("name", ["eng.testb", "conll2003/eng.testb", "CoNLL-2003/test.txt", "ner/eng.testb"])
def test_the_searched_paths_are_searched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("Bonn N O I-LOC\n")
    assert TASK.load("test", workspace(tmp_path)).table.to_pylist()[0]["labels"] == ["B-LOC"]


def test_a_test_file_may_lack_its_labels_and_a_dev_file_may_not(tmp_path: Path) -> None:
    for name in ("eng.testa", "eng.testb"):
        (tmp_path / name).write_text("Bonn N O\n")
    assert TASK.load("test", workspace(tmp_path)).table.column_names == ["words", "pos", "chunk"]
    with pytest.raises(DataError, match=r"eng\.testa: columns words, labels are needed; found words, pos, chunk"):
        TASK.load("dev", workspace(tmp_path))


@pytest.mark.parametrize(
    ("split", "documents", "sentences", "tokens", "phrases"),
    [
        ("train", 946, 14_041, 203_621, {"LOC": 7140, "MISC": 3438, "ORG": 6321, "PER": 6600}),
        ("dev", 216, 3_250, 51_362, {"LOC": 1837, "MISC": 922, "ORG": 1341, "PER": 1842}),
        ("test", 231, 3_453, 46_435, {"LOC": 1668, "MISC": 702, "ORG": 1661, "PER": 1617}),
    ],
)
def test_the_real_files_have_the_published_counts(
    split: str, documents: int, sentences: int, tokens: int, phrases: dict[str, int]
) -> None:
    """Counts from Tjong Kim Sang and De Meulder (2003), Tables 1 and 2."""
    rows = real_rows(split)
    assert len(rows) == sentences == TASK.splits[split].rows
    assert len(set(rows.table.column("document").to_pylist())) == documents
    assert sum(map(len, rows.table.column("words").to_pylist())) == tokens
    tags = [tag for sentence in rows.table.column("labels").to_pylist() for tag in sentence]
    assert {kind: tags.count(f"B-{kind}") for kind in phrases} == phrases
    assert rows.notes == ("tags are in IOB1, read as IOB2",)


def test_only_spaces_and_tabs_separate_columns(tmp_path: Path) -> None:
    words = ["\u2028", *(f"a{mark}b" for mark in "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e" + "\u00a0")]
    rows = read(tmp_path, "".join(f"{word} NN I-NP O\n" for word in words))
    assert rows.table.column("words").to_pylist() == [words]


CLIENT = """
import json, sys
from pathlib import Path
from benchrunner.workspace import Settings, Workspace
from benchrunner_conll import CONLL2003
files, task = Path(sys.argv[1]), CONLL2003.task()
counted = Settings(official_counts=False)
here, hub = (Workspace(runs=files, cache=files, data=data, settings=counted) for data in (files, None))
results = {}
for split in task.splits:
    from_files, from_hub = task.load(split, here), task.load(split, hub)
    assert from_hub.origin.startswith("hub eriktks/conll2003 (")
    results[split] = [len(from_files), from_hub.table.equals(from_files.table.drop_columns(["document"]))]
print(json.dumps(results))
"""


def test_every_split_has_the_same_rows_on_the_hub(tmp_path: Path) -> None:
    TASK.demo_files(tmp_path / "files")  # type: ignore[misc]
    build(tmp_path / "files" / "conll2003", tmp_path / "hub" / "datasets" / "eriktks" / "conll2003")
    with Hub(tmp_path / "hub") as hub:
        environment = {**os.environ, **hub.environment(tmp_path / "home")}
        arguments = ["-c", CLIENT, str(tmp_path / "files")]
        process = forked.run(arguments, env=environment)
        assert any("refs%2Fconvert%2Fparquet" in request for request in hub.requests)
    assert process.returncode == 0, process.stderr
    results = json.loads(process.stdout)
    assert list(results) == list(CONLL2003.files)
    assert all(rows >= 60 and equal for rows, equal in results.values())
