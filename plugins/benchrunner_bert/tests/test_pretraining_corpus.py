"""Text as it lies around: files of several kinds, marks, line ends, bytes that are no text, and where sentences end."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
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


def test_bom_crlf_and_bad_bytes_are_cleaned_and_counted(tmp_path: Path) -> None:
    source = text(tmp_path / "a", b"\xef\xbb\xbfCaf\xc3\xa9.\r\n\r\nna\xefve \xff\xfe \xe2\x82.\r\nplain\n")
    assert read(source) == [["Café."], ["na\ufffdve \ufffd\ufffd \ufffd\ufffd.", "plain"]]
    facts = source.facts()
    assert (facts.bom, facts.crlf, facts.bad_bytes, facts.size) == (True, 3, 5, source.path.stat().st_size)


def test_a_mark_inside_a_file_is_text(tmp_path: Path) -> None:
    assert read(text(tmp_path / "a", b"one\n\xef\xbb\xbftwo\n")) == [["one", "\ufefftwo"]]


@pytest.mark.parametrize("end", [b"", b"\n", b" \r\n\r\nAnother document."])
@pytest.mark.parametrize("word", ["word é ", "无空格", pytest.param("é" * 5000 + " ", id="wide")])
def test_huge_lines_are_split_between_words_or_characters(tmp_path: Path, word: str, end: bytes) -> None:
    line = (word * (5_000_000 // len(word.encode()))).strip()
    source = text(tmp_path / "a", b"One.\n" + line.encode() + end)
    first, *others = read(source)
    assert others == ([["Another document."]] if b"A" in end else [])
    assert first[0] == "One." and len(first) > 3
    assert max(len(part.encode()) for part in first) <= 2 << 20
    assert (" " if word == "word é " else "").join(first[1:]).replace(" ", "") == line.replace(" ", "")
    if word == "word é ":
        assert " ".join(first[1:]) == line
    facts = source.facts()
    assert (facts.bad_bytes, facts.size) == (0, source.path.stat().st_size)
    assert facts.sha256 == hashlib.sha256(source.path.read_bytes()).hexdigest()


def test_lines_of_a_block_or_less_are_never_cut(tmp_path: Path) -> None:
    lines = ["a " * (1 << 19) + "b", "c" * ((1 << 20) - 1), "d", "e " * (1 << 19)]
    assert read(text(tmp_path / "a", "\n".join(lines).encode())) == [[line.strip() for line in lines]]


@pytest.mark.parametrize("content", [b"\xff\xfeO\x00n\x00e\x00", b"\x7fELF\x02\x00\x00\x00\x00\x08\x00"])
def test_what_is_no_utf8_text_at_all_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match="not a file of UTF-8 text"):
        read(text(tmp_path / "a", content))


def test_another_encoding_is_refused_but_a_few_bad_bytes_are_not(tmp_path: Path) -> None:
    russian = "Все счастливые семьи похожи друг на друга. " * 2000
    with pytest.raises(DataError, match=r"a: not a file of UTF-8 text: [\d,]+ of its first 65,536 bytes are not UTF-8"):
        read(text(tmp_path / "a", russian.encode("cp1251")))
    few = b"A caf\xe9 in forty bytes of other English. " * 2000
    assert text(tmp_path / "b", few).facts().bad_bytes == 2000


@pytest.mark.parametrize(
    ("name", "start"), [("gzip", b"\x1f\x8b"), ("zip", b"PK\x03\x04"), ("zstd", b"\x28\xb5\x2f\xfd")]
)
def test_compressed_files_are_refused_by_name(tmp_path: Path, name: str, start: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(start + zlib.compress(b'{"text": "some words"}\n' * 9))
    (source,) = Corpus.named([str(tmp_path)]).sources
    with pytest.raises(DataError, match=rf"a\.jsonl: .* it is compressed \({name}\)\. Unpack it first"):
        source.facts()


# JSON lines and tables


def test_each_json_line_is_a_document_split_at_its_line_breaks(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    first, second = b'{"text": "One.\\nTwo.\\r\\n\\nThree.", "id": 7}', b'{"text": "lone \\ud800 \xff"}'
    path.write_bytes(b"\xef\xbb\xbf" + first + b"\r\n\n" + second + b'\n{"text": ""}\n')
    source = JsonLines(path, "a")
    assert read(source) == [["One.", "Two.", "Three."], ["lone \ufffd \ufffd"]]
    assert source.facts().bad_bytes == 1


def test_a_line_of_json_is_never_cut(tmp_path: Path) -> None:
    document = "word " * 700_000
    (tmp_path / "a.jsonl").write_text(f'{{"text": "{document}"}}\n{{"text": "b"}}\n', encoding="utf-8")
    source = JsonLines(tmp_path / "a.jsonl", "a")
    assert read(source) == [[document.strip()], ["b"]]
    assert source.facts().size == source.path.stat().st_size


@pytest.mark.parametrize(
    "line", ['{"text": 3}', '{"body": "x"}', '["x"]', '{"text": "x"', pytest.param("[" * 100_000, id="deep")]
)
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


def test_linked_folders_are_walked_and_end_where_they_lead_back(tmp_path: Path) -> None:
    for name in ("in/a.txt", "in/z/deep.txt", "elsewhere/b.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "in" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "in" / "z" / "up").symlink_to(tmp_path / "in")
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "in" / "linked" / ".." / "elsewhere")
    (tmp_path / "in" / ".hidden").symlink_to(tmp_path / "nowhere")
    found = Corpus.named([str(tmp_path / "in")]).sources
    assert [one.name for one in found] == ["a.txt", "linked/b.txt", "z/deep.txt"]


def test_a_link_to_nowhere_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    (tmp_path / "b.txt").symlink_to("c.txt")
    with pytest.raises(DataError, match=r"b\.txt: a link to a file that does not exist \(c\.txt\)"):
        Corpus.named([str(tmp_path)])


def test_a_data_set_may_be_named_as_it_was_once() -> None:
    asked = ["hub:a/b,c,d@v1", "hub:a/b@refs/pr/1", "hub:a/b,,d@0123"]
    found = Corpus.named(asked).sources
    assert found == (
        HubSet("a/b", "c", "d", "v1"),
        HubSet("a/b", "", "train", "refs/pr/1"),
        HubSet("a/b", "", "d", "0123"),
    )
    assert [one.name for one in found] == ["hub:a/b,c,d", "hub:a/b,,train", "hub:a/b,,d"]
    for wrong in ("hub:a/b@", "hub:@v1", "hub:a/b@v1,c", "hub:a/b,c,d,e@v1"):
        with pytest.raises(RequestError, match="and @REVISION at the end"):
            Corpus.named([wrong])


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    for asked, reason in (
        ([str(tmp_path / "nowhere")], "nowhere: there is no such file or folder"),
        ([str(tmp_path)], "no files in this folder"),
        ([], "A corpus is needed"),
        (["hub:"], "expected hub:NAME"),
    ):
        with pytest.raises(RequestError, match=reason):
            Corpus.named(asked)


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    source = text(tmp_path / "a", b"One.")
    source.path.unlink()
    with pytest.raises(DataError, match="a: cannot be read: No such file"):
        source.facts()


CLIENT = """
import json, sys
from benchrunner.errors import DataError
from benchrunner_bert.pretraining.corpus.corpus import Corpus
answers = []
for reference in sys.argv[1:]:
    (source,) = Corpus.named([reference]).sources
    try:
        answers.append([source.facts().revision, list(source.paragraphs())])
        assert list(source.paragraphs()) == answers[-1][1]
    except DataError as error:
        answers.append(str(error))
print(json.dumps(answers))
"""


class Past(Hub):
    """A hub whose data sets have an earlier commit with a tag too; `root` beside the folder of each, named so."""

    def find(self, kind: str, parts: list[str]) -> tuple[Repository, list[str]] | None:
        found = super().find(kind, parts)
        if found is None or not found[1][1:]:
            return found
        repository, rest = found
        old = Repository(kind, repository.name, repository.folder.with_name(f"{repository.folder.name}-v1"))
        if rest[1] in ("v1", old.commit):
            return old, rest
        return found if rest[1] in ("main", repository.commit) else None


def asked(hub: Hub, home: Path, *references: str) -> list[list[object] | str]:
    """The commit and the paragraphs of each data set, or what is wrong with it."""
    arguments = ["-c", CLIENT, *references]
    environment = {**os.environ, **hub.environment(home)}
    done = forked.run(arguments, env=environment)
    assert done.returncode == 0, done.stderr
    answers: list[list[object] | str] = json.loads(done.stdout)
    return answers


def table(folder: Path, split: str, *documents: str) -> None:
    (folder / "data").mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"text": list(documents)}), folder / "data" / f"{split}-00000-of-00001.parquet")


def test_a_data_set_on_the_hub_is_streamed_as_it_is_or_as_it_was(tmp_path: Path) -> None:
    books = tmp_path / "hub" / "datasets" / "somebody" / "books"
    table(books, "train", "One.\nTwo.", "Three.")
    table(books, "test", "Held out.")
    table(books.with_name("books-v1"), "train", "One.")
    now, then = (Repository("datasets", "somebody/books", one).commit for one in (books, books.with_name("books-v1")))
    with Past(tmp_path / "hub") as hub:
        names = ["books", "books,,test", "books@v1", f"books,,train@{then}", "books@v2", "nothing"]
        train, test, tagged, pinned, missing, nothing = asked(
            hub, tmp_path / "home", *(f"hub:somebody/{name}" for name in names)
        )
    assert train == [now, ["One.", "Two.", "", "Three.", ""]]
    assert test == [now, ["Held out.", ""]]
    assert tagged == pinned == [then, ["One.", ""]]
    assert isinstance(missing, str) and missing.startswith("hub:somebody/books,,train could not be read: ")
    assert isinstance(nothing, str) and nothing.startswith("hub:somebody/nothing,,train could not be read: ")


def test_a_data_set_is_asked_for_its_commit_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit between two passes must not give the second one other text."""
    commits = iter(["first", "second"])
    streamed = list[str]()

    def load(*where: str | None, revision: str, **rest: object) -> list[dict[str, str]]:
        streamed.append(revision)
        return [{"text": "One."}]

    monkeypatch.setattr(
        "huggingface_hub.HfApi.dataset_info", lambda self, name, revision: SimpleNamespace(sha=next(commits))
    )
    monkeypatch.setattr("datasets.load_dataset", load)
    source = HubSet("a/b")
    assert (read(source), source.facts().revision, read(source)) == ([["One."]], "first", [["One."]])
    assert streamed == ["first", "first"]


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


def test_a_word_that_a_cut_would_meet_stays_whole() -> None:
    address = "http://" + "a" * 50
    assert split(" ".join(["w"] * (LONGEST - 1) + [address, "end"])) == [
        " ".join(["w"] * (LONGEST - 1)),
        f"{address} end",
    ]


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
