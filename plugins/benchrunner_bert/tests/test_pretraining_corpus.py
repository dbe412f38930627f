"""Text as it lies around: files of several kinds, marks, line ends, bytes that are no text, and where sentences end."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forked
from benchrunner import DataError, RequestError
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.sentences import LONGEST, split
from benchrunner_bert.pretraining.corpus.sources import HubSet, JsonLines, Parquet, Source, TextFile
from hub_server import Hub, Repository


def text(path: Path, content: bytes, blank_lines: int = 1) -> TextFile:
    path.write_bytes(content)
    return TextFile(path, path.name, blank_lines=blank_lines)


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


def test_bom_crlf_and_bad_bytes_are_cleaned_and_counted(tmp_path: Path) -> None:
    source = text(tmp_path / "a", b"\xef\xbb\xbfCaf\xc3\xa9.\r\n\r\nna\xefve \xff\xfe \xe2\x82.\r\n\xef\xbb\xbfplain\n")
    assert read(source) == [["Café."], ["na\ufffdve \ufffd\ufffd \ufffd\ufffd.", "\ufeffplain"]], (
        "a mark inside a file is text"
    )
    facts = source.facts()
    assert (facts.bom, facts.crlf, facts.bad_bytes, facts.size) == (True, 3, 5, source.path.stat().st_size)


@pytest.mark.parametrize("word", ["word é ", "无空格"])
def test_huge_lines_are_split_between_words_or_characters(tmp_path: Path, word: str) -> None:
    line = (word * (5_000_000 // len(word.encode()))).strip()
    source = text(tmp_path / "a", b"One.\n" + line.encode() + b" \r\n\r\nAnother document.")
    first, another = read(source)
    assert another == ["Another document."]
    assert first[0] == "One." and len(first) > 3
    assert max(len(part.encode()) for part in first) <= 2 << 20
    assert (" " if word == "word é " else "").join(first[1:]) == line
    facts = source.facts()
    assert (facts.bad_bytes, facts.size) == (0, source.path.stat().st_size)
    assert facts.sha256 == hashlib.sha256(source.path.read_bytes()).hexdigest()


def test_another_encoding_is_refused_a_few_bad_bytes_are_not(tmp_path: Path) -> None:
    russian = ("Все счастливые семьи похожи друг на друга. " * 2000).encode("cp1251")
    for content in (b"\xff\xfeO\x00n\x00e\x00", b"\x7fELF\x02\x00\x00\x00\x00\x08\x00", russian):
        with pytest.raises(DataError, match="a: not a file of UTF-8 text"):
            read(text(tmp_path / "a", content))
    few = b"A caf\xe9 in forty bytes of other English. " * 2000
    assert text(tmp_path / "b", few).facts().bad_bytes == 2000


def test_compressed_files_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(gzip.compress(b'{"text": "some words"}\n' * 9))
    (source,) = Corpus.named([str(tmp_path)]).sources
    with pytest.raises(DataError, match=r"a\.jsonl: .* it is compressed \(gzip\)\. Unpack it first"):
        source.facts()


# JSON lines and tables


def test_each_json_line_is_a_document_split_at_its_line_breaks(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    first, second = b'{"text": "One.\\nTwo.\\r\\n\\nThree.", "id": 7}', b'{"text": "lone \\ud800 \xff"}'
    path.write_bytes(b"\xef\xbb\xbf" + first + b"\r\n\n" + second + b'\n{"text": ""}\n')
    source = JsonLines(path, "a")
    assert read(source) == [["One.", "Two.", "Three."], ["lone \ufffd \ufffd"]]
    assert source.facts().bad_bytes == 1
    path.write_text(json.dumps({"text": "word " * 700_000}))
    assert read(source) == [[("word " * 700_000).strip()]], "a line of JSON is never cut"


@pytest.mark.parametrize(
    "line", ['{"text": 3}', '{"body": "x"}', '["x"]', '{"text": "x"', pytest.param("[" * 100_000, id="deep")]
)
def test_a_line_that_is_no_document_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"text": "fine"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.jsonl:2: "):
        read(JsonLines(tmp_path / "a.jsonl", "a"))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_every_row_of_a_table_is_a_document(tmp_path: Path, kind: pa.DataType) -> None:
    """Bad bytes are counted."""
    rows = pa.array([b"One.\nTwo.", None, b"Three \xe9."], pa.binary()).view(pa.string()).cast(kind, safe=False)
    pq.write_table(pa.table({"text": rows}), tmp_path / "a.parquet")
    source = Parquet(tmp_path / "a.parquet", "a")
    assert read(source) == [["One.", "Two."], ["Three \ufffd."]] and source.facts().bad_bytes == 1


def test_a_table_without_the_column_or_that_is_none_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"body": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet: expected a column 'text'; it has body"):
        read(Parquet(tmp_path / "a.parquet", "a"))
    (tmp_path / "b.parquet").write_bytes(b"text")
    with pytest.raises(DataError, match=r"b\.parquet: not a readable parquet file"):
        read(Parquet(tmp_path / "b.parquet", "b"))


# What the user names


def test_a_folder_is_walked_in_order_and_hidden_files_stay_out(tmp_path: Path) -> None:
    """Linked folders are walked too, and end where they lead back."""
    for name in ("b.txt", "a/z.jsonl", "a/b/c.parquet", "a/wiki_00", ".hidden", ".git/x.txt", "../linked/d.txt"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).touch()
    (tmp_path / "first.txt").touch()
    (tmp_path / "in" / "c").symlink_to(tmp_path / "linked")
    (tmp_path / "linked" / "up").symlink_to(tmp_path / "in")
    found = Corpus.named([str(tmp_path / "first.txt"), str(tmp_path / "in")]).sources
    assert [one.name for one in found] == ["first.txt", "a/b/c.parquet", "a/wiki_00", "a/z.jsonl", "b.txt", "c/d.txt"]
    assert [type(one) for one in found] == [TextFile, Parquet, TextFile, JsonLines, TextFile, TextFile]


def test_a_link_to_nowhere_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    (tmp_path / "b.txt").symlink_to("c.txt")
    with pytest.raises(DataError, match=r"b\.txt: a link to a file that does not exist \(c\.txt\)"):
        Corpus.named([str(tmp_path)])


def test_a_data_set_may_be_named_as_it_was_once() -> None:
    found = Corpus.named(["hub:a/b,c,d@v1", "hub:a/b", "hub:a/b,,d@refs/pr/1"]).sources
    assert found == (HubSet("a/b", "c", "d", "v1"), HubSet("a/b", "", "train"), HubSet("a/b", "", "d", "refs/pr/1"))
    assert [one.name for one in found] == ["hub:a/b,c,d", "hub:a/b,,train", "hub:a/b,,d"]
    for wrong in ("hub:a/b@", "hub:@v1", "hub:a/b@v1,c", "hub:a/b,c,d,e@v1"):
        with pytest.raises(RequestError, match="and @REVISION at the end"):
            Corpus.named([wrong])


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    for asked, reason in (
        ([str(tmp_path / "nowhere")], "nowhere: there is no such file or folder"),
        ([str(tmp_path)], "no files in this folder"),
        (["hub:"], "expected hub:NAME"),
    ):
        with pytest.raises(RequestError, match=reason):
            Corpus.named(asked)


CLIENT = """
import json, sys
from benchrunner.errors import DataError
from benchrunner_bert.pretraining.corpus.corpus import Corpus
answers = []
for source in Corpus.named(sys.argv[1:]).sources:
    try:
        answers.append([source.facts().revision, list(source.paragraphs())])
    except DataError as error:
        answers.append(str(error))
print(json.dumps(answers))
"""
"""Writes the commit and the paragraphs of each data set, or what is wrong with it."""


def test_a_data_set_on_the_hub_is_streamed(tmp_path: Path) -> None:
    books = tmp_path / "hub" / "datasets" / "somebody" / "books"
    (books / "data").mkdir(parents=True)
    for name, documents in (("train", ["One.\nTwo.", "Three."]), ("test", ["Held out."])):
        pq.write_table(pa.table({"text": documents}), books / "data" / f"{name}-00000-of-00001.parquet")
    with Hub(tmp_path / "hub") as hub:
        names = [f"hub:somebody/{name}" for name in ("books", "books,,test", "nothing")]
        done = forked.run(["-c", CLIENT, *names], env={**os.environ, **hub.environment(tmp_path / "home")})
    assert done.returncode == 0, done.stderr
    train, test, nothing = json.loads(done.stdout)
    commit = Repository("datasets", "somebody/books", books).commit
    assert train == [commit, ["One.", "Two.", "", "Three.", ""]]
    assert test == [commit, ["Held out.", ""]]
    assert nothing.startswith("hub:somebody/nothing,,train could not be read: ")


def test_a_data_set_is_asked_for_its_commit_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit between two passes must not give the second one other text."""
    commits, calls = iter(["first", "second"]), list[str]()

    def commit(api: object, name: str, revision: str) -> SimpleNamespace:
        calls.append(revision)
        return SimpleNamespace(sha=next(commits))

    def load(*where: str | None, revision: str, **rest: object) -> list[dict[str, str]]:
        calls.append(revision)
        return [{"text": "One."}]

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", commit)
    monkeypatch.setattr("datasets.load_dataset", load)
    source = HubSet("a/b", revision="v1")
    assert (read(source), source.facts().revision, read(source)) == ([["One."]], "first", [["One."]])
    assert calls == ["v1", "first", "first"]


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
    parts = split(" ".join(words))
    assert [len(one.split()) for one in parts] == [LONGEST, LONGEST, 1] and " ".join(parts) == " ".join(words)


@pytest.mark.parametrize(
    "enormous", ["x" * 5000, "1," * 2500, "é" * 5000, "y " + "x" * 5000 + " z", "я" * 1025], ids=range(5)
)
def test_a_sentence_without_blanks_is_cut_too(enormous: str) -> None:
    parts = split(enormous)
    assert max(map(len, parts)) <= 16 * LONGEST and len(parts) > 1
    assert "".join(parts).replace(" ", "") == enormous.replace(" ", "")


def test_chinese_characters_count_as_words() -> None:
    text = "这是一个没有空格的句子，" * 20 + "with 4 more words" + "和" * 60
    parts = split(text)
    assert "".join(parts) == text
    assert [len(one) for one in parts[:3]] == [LONGEST] * 3 and len(parts) == 5
    assert split("短句子。" * 16) == ["短句子。" * 16]
