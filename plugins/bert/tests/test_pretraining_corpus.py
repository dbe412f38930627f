"""Text as it lies around: files of several kinds, marks, line ends, bytes that are no text, and where sentences end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchrunner.errors import DataError, RequestError
from benchrunner_bert.pretraining.corpus import Corpus, HubSet, JsonLines, Parquet, Source, TextFile
from benchrunner_bert.pretraining.sentences import LONGEST, split
from hub_server import Hub


def text(path: Path, content: bytes, blank_lines: int = 1) -> TextFile:
    path.write_bytes(content)
    return TextFile(path, path.name, blank_lines)


def read(source: Source) -> list[list[str]]:
    """The paragraphs of each document that has some."""
    documents = [list[str]()]
    for paragraph in source.paragraphs():
        if paragraph:
            documents[-1].append(paragraph)
        elif documents[-1]:
            documents.append([])
    assert documents.pop() == [], "a source ends with the end of a document"
    return documents


# Text files


def test_a_blank_line_and_the_end_of_a_file_end_documents(tmp_path: Path) -> None:
    assert read(text(tmp_path / "a", b"One.\nTwo.\n\n\nThree.\n \t \nFour.")) == [
        ["One.", "Two."],
        ["Three."],
        ["Four."],
    ]


def test_more_blank_lines_may_be_asked_for_or_none_count(tmp_path: Path) -> None:
    content = b"Title\n\nOne.\n\nTwo.\n\n\nNext\n\nThree.\n\n\n\nFour."
    assert read(text(tmp_path / "a", content, 2)) == [["Title", "One.", "Two."], ["Next", "Three."], ["Four."]]
    assert read(text(tmp_path / "b", content, 0)) == [["Title", "One.", "Two.", "Next", "Three.", "Four."]]


def test_a_mark_carriage_returns_and_bad_bytes_are_left_out_and_counted(tmp_path: Path) -> None:
    source = text(tmp_path / "a", b"\xef\xbb\xbfCaf\xc3\xa9.\r\n\r\nna\xefve \xff\xfe \xe2\x82.\r\nplain\n")
    assert read(source) == [["Café."], ["na\ufffdve \ufffd\ufffd \ufffd\ufffd.", "plain"]]
    facts = source.facts()
    assert (facts.bom, facts.crlf, facts.bad_bytes, facts.size) == (True, 3, 5, source.path.stat().st_size)


def test_a_replacement_character_that_is_really_there_is_not_counted(tmp_path: Path) -> None:
    assert text(tmp_path / "a", "a \ufffd b".encode()).facts().bad_bytes == 0


def test_a_mark_inside_a_file_is_text(tmp_path: Path) -> None:
    assert read(text(tmp_path / "a", b"one\n\xef\xbb\xbftwo\n")) == [["one", "\ufefftwo"]]


def test_lines_beyond_one_block_are_whole(tmp_path: Path) -> None:
    lines = [f"line {number} é" for number in range(200_000)]
    source = text(tmp_path / "a", "\r\n".join(lines).encode())
    assert read(source) == [lines]
    assert source.facts().crlf == len(lines) - 1


@pytest.mark.parametrize("content", [b"\xff\xfeO\x00n\x00e\x00", b"PK\x03\x04\x00\x00\x00\x00\x08\x00"])
def test_what_is_no_utf8_text_at_all_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match="not a file of UTF-8 text"):
        read(text(tmp_path / "a", content))


# JSON lines and tables


def test_every_json_line_is_a_document_and_its_line_breaks_end_paragraphs(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    first, second = b'{"text": "One.\\nTwo.\\r\\n\\nThree.", "id": 7}', b'{"text": "lone \\ud800 \xff"}'
    path.write_bytes(b"\xef\xbb\xbf" + first + b"\r\n\n" + second + b'\n{"text": ""}\n')
    source = JsonLines(path, "a")
    assert read(source) == [["One.", "Two.", "Three."], ["lone \ufffd \ufffd"]]
    assert source.facts().bad_bytes == 1


@pytest.mark.parametrize("line", ['{"text": 3}', '{"body": "x"}', '["x"]', '{"text": "x"'])
def test_a_line_that_is_no_document_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"text": "fine"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.jsonl:2: "):
        read(JsonLines(tmp_path / "a.jsonl", "a"))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_every_row_of_a_table_is_a_document(tmp_path: Path, kind: pa.DataType) -> None:
    rows = pa.array(["One.\nTwo.", None, "Three é."], pa.string()).cast(kind)
    pq.write_table(pa.table({"id": [1, 2, 3], "text": rows}), tmp_path / "a.parquet")
    assert read(Parquet(tmp_path / "a.parquet", "a")) == [["One.", "Two."], ["Three é."]]


def test_bad_bytes_in_a_table_are_counted_too(tmp_path: Path) -> None:
    broken = pa.array([b"na\xefve", b"fine"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": broken}), tmp_path / "a.parquet")
    source = Parquet(tmp_path / "a.parquet", "a")
    assert read(source) == [["na\ufffdve"], ["fine"]]
    assert source.facts().bad_bytes == 1


def test_a_table_without_the_column_or_that_is_none_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"body": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet: expected a column 'text'; it has body"):
        read(Parquet(tmp_path / "a.parquet", "a"))
    (tmp_path / "b.parquet").write_bytes(b"text")
    with pytest.raises(DataError, match=r"b\.parquet: not a readable parquet file"):
        read(Parquet(tmp_path / "b.parquet", "b"))


# What the user names


def test_a_folder_is_walked_in_order_and_hidden_files_stay_out(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.jsonl", "a/b/c.parquet", "a/wiki_00", ".hidden", ".git/x.txt"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).touch()
    (tmp_path / "first.txt").touch()
    asked = [str(tmp_path / "first.txt"), str(tmp_path / "in"), "hub:a/b,c,d", "hub:a/b", "hub:a/b,,d"]
    found = Corpus.named(asked).sources
    assert [one.name for one in found[:5]] == ["first.txt", "a/b/c.parquet", "a/wiki_00", "a/z.jsonl", "b.txt"]
    assert [type(one) for one in found[:5]] == [TextFile, Parquet, TextFile, JsonLines, TextFile]
    assert found[5:] == (HubSet("a/b", "c", "d"), HubSet("a/b", "", "train"), HubSet("a/b", "", "d"))


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere: there is no such file or folder"):
        Corpus.named([str(tmp_path / "nowhere")])
    with pytest.raises(DataError, match="no files in this folder"):
        Corpus.named([str(tmp_path)])
    with pytest.raises(RequestError, match="A corpus is needed"):
        Corpus.named([])
    with pytest.raises(RequestError, match="expected hub:NAME"):
        Corpus.named(["hub:"])
    with pytest.raises(RequestError, match="0 or more, not -1"):
        Corpus.named([str(tmp_path)], blank_lines=-1)


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    source = text(tmp_path / "a", b"One.")
    source.path.unlink()
    with pytest.raises(DataError, match="a: cannot be read: No such file"):
        source.facts()


CLIENT = """
import json, sys
from benchrunner.errors import DataError
from benchrunner_bert.pretraining.corpus import Corpus
answers = []
for reference in sys.argv[1:]:
    (source,) = Corpus.named([reference]).sources
    try:
        answers.append([source.facts().revision, list(source.paragraphs())])
    except DataError as error:
        answers.append(str(error))
print(json.dumps(answers))
"""


def test_a_data_set_on_the_hub_is_streamed(tmp_path: Path) -> None:
    books = tmp_path / "hub" / "datasets" / "somebody" / "books"
    (books / "data").mkdir(parents=True)
    pq.write_table(pa.table({"text": ["One.\nTwo.", "Three."]}), books / "data" / "train-00000-of-00001.parquet")
    pq.write_table(pa.table({"text": ["Held out."]}), books / "data" / "test-00000-of-00001.parquet")
    with Hub(tmp_path / "hub") as hub:
        asked = ["hub:somebody/books", "hub:somebody/books,,test", "hub:somebody/nothing"]
        environment = {**os.environ, **hub.environment(tmp_path / "home")}
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, *asked],
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        train, test, nothing = json.loads(done.stdout)
        commit = hub.find("datasets", ["somebody", "books"])
    assert commit is not None
    assert train == [commit[0].commit, ["One.", "Two.", "", "Three.", ""]]
    assert test == [commit[0].commit, ["Held out.", ""]]
    assert nothing.startswith("hub:somebody/nothing,,train could not be read: ")


# Sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["He came.", "She went!", "Did they?", "Nobody knows."],
        ['"Come in!"', 'She said: "No."', '"Why?"'],
        ["“So it is.”", "‘Never!’", "It was (almost) dark.)", "[Then] it rained.", "_Really?_", "Yes."],
        ["Mr. and Mrs. Brown met Dr. J. R. Smith on Jan. 5 in St. Louis.", "They left."],
        ["See Fig. 3, i.e. No. 7.", "No.", "It is 3.5 miles.", "12 men came."],
        ["He waited... Then he went."[:12], "Then he went."],
        ["Élan is a word.", "Österreich too.", "Да.", "Нет."],
        ["it ends. but this goes on, e.g. Here, and here."],
        ["killed .", "The next in tokenised text , as in H. gammarus , it may grow ."],
    ],
)
def test_sentences_end_where_a_reader_ends_them(sentences: list[str]) -> None:
    assert split(" ".join(sentences)) == sentences


def test_paragraphs_end_sentences_and_empty_ones_stay() -> None:
    assert split("a heading\nOne.  Two.\n\nThree") == ["a heading", "One.", "Two.", "", "Three"]


def test_very_long_sentences_are_cut_between_words() -> None:
    words = [f"w{number}" for number in range(2 * LONGEST + 1)]
    assert [len(one.split()) for one in split(" ".join(words))] == [LONGEST, LONGEST, 1]
    assert " ".join(split(" ".join(words))) == " ".join(words)
