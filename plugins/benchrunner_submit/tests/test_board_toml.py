"""Leaderboards in TOML files: the values that are read from them."""

import re
import sys
from pathlib import Path

import pytest

from benchrunner.errors import PluginError
from benchrunner.leaderboards.published import PublishedColumn, PublishedRow
from benchrunner_submit import BoardFile
from benchrunner_submit.file_kinds.columns_file import Columns
from benchrunner_submit.file_kinds.json_file import JsonMap
from benchrunner_submit.file_kinds.spellings import LabelList, Labels, Number, Text
from benchrunner_submit.file_kinds.text_files import Lines, Table
from board_texts import BOARD_TOML, read_board


def test_a_board_is_read_from_its_toml(tmp_path: Path) -> None:
    board = read_board(tmp_path, BOARD_TOML)
    assert (board.name, board.title, board.url, board.archive) == (
        "moods",
        "Moods",
        "https://moods.example",
        "moods.zip",
    )
    assert board.wanted[:2] == (("mine/mood", "test"), ("mine/warmth", "test"))
    assert len(board.files) == 7 and len(board.wanted) == 5 and not board.is_folder
    mood, warmth, *_ = board.files
    header = ("index", "prediction")
    mood_kind = Table(header, Labels({"sad": "0", "glad": "1"}))
    assert mood == BoardFile("Mood.tsv", "mine/mood", "test", 3, mood_kind, {4: "the rows of last year"})
    assert warmth.kind == Table(header, Number(0, 5, 3))
    assert board.files_of("mine/mood") == [mood] and board.files_of("mine/other") == []


def test_every_kind_of_file_is_read_from_its_toml(tmp_path: Path) -> None:
    board = read_board(tmp_path, BOARD_TOML)
    said, doubt, choice, chances, tags = board.files[2:]
    assert said.kind == JsonMap("id", Text()) and said.extra_figure == ""
    assert (
        doubt.kind == JsonMap("id", Number(0, 1, None, "a log-odds is no probability"))
        and doubt.extra_figure == "no_answer"
    )
    assert choice.kind == Lines(Labels({"0": "0", "1": "1"})) and chances.kind == Lines(Number(0, 1, 3), 2)
    assert tags.kind == Columns(("words", "labels"), ("PER", "LOC"), ("-DOCSTART-", "O"))


def test_a_board_may_be_a_folder_and_may_have_a_note(tmp_path: Path) -> None:
    board = read_board(tmp_path, 'note = "Nobody reads it."\n' + BOARD_TOML.replace("moods.zip", "moods-1.1/"))
    assert board.is_folder and board.note == "Nobody reads it."


def test_published_rows_and_columns_are_read(tmp_path: Path) -> None:
    board = read_board(tmp_path, BOARD_TOML)
    assert board.published == (
        PublishedRow(
            "Thermometer",
            "Nobody 2019, Table 1",
            {"Mood": 80.5, "mean": 70.0},
            variant="mercury",
            version="second",
            notes="read twice",
            by_default=True,
        ),
        PublishedRow("Barometer", "Nobody 2019, Table 2", {"Mood": 81.0}, other_data="the weather of 2018"),
    )
    assert [row.name for row in board.published] == ["Thermometer (mercury)", "Barometer"]
    assert board.columns == {
        "Mood": PublishedColumn("test", "accuracy", task="mine/mood", split="test", beside="dev"),
        "Mood, dev": PublishedColumn("dev", "accuracy", task="mine/mood", split="dev"),
        "Mood, hidden": PublishedColumn("test", "f1", task="mine/mood"),
        "mean": PublishedColumn("test", "mean of moods", suite="mine"),
    }
    assert board.origin == str(tmp_path / "moods.toml")


def test_columns_and_published_rows_may_be_left_out(tmp_path: Path) -> None:
    board = read_board(tmp_path, BOARD_TOML[: BOARD_TOML.index("[columns]")])
    assert board.columns == {} and board.published == () and list(board.figures) == []


def test_a_board_may_list_published_rows_and_take_no_files(tmp_path: Path) -> None:
    head, rest = BOARD_TOML.split("[[file]]", 1)[0], BOARD_TOML[BOARD_TOML.index("[columns]") :]
    board = read_board(tmp_path, head.replace('archive = "moods.zip"\n', "") + rest)
    assert (board.files, board.archive, len(board.published)) == ((), "", 2)
    with pytest.raises(PluginError, match="give files with the name of their archive, or published results"):
        read_board(tmp_path, head + rest)
    with pytest.raises(PluginError, match="give files with the name of their archive, or published results"):
        read_board(tmp_path, head.replace('archive = "moods.zip"\n', ""))


LABELS = 'labels = {sad = "0", glad = "1"}'


def test_answers_may_be_lists_of_labels(tmp_path: Path) -> None:
    moods = Labels({"sad": "0", "glad": "1"})
    text = BOARD_TOML.replace(LABELS, f'{LABELS}\nlist = true\nseparator = "+"\nempty = "none"', 1)
    assert read_board(tmp_path, text).files[0].kind == Table(("index", "prediction"), LabelList(moods, "+", "none"))
    text = BOARD_TOML.replace('key = "id"', f'key = "id"\n{LABELS}\nlist = true', 1)
    assert read_board(tmp_path, text).files[2].kind == JsonMap("id", LabelList(moods))
    assert read_board(tmp_path, BOARD_TOML.replace(LABELS, f"{LABELS}\nlist = false")).files[0].kind == Table(
        ("index", "prediction"), moods
    )


OWN_KINDS = """
from dataclasses import dataclass
from benchrunner_submit import FileKind, Spelling

class Plain(FileKind):
    def write(self, name, answers):
        return b""
    def read(self, content, expected, faults):
        return []

@dataclass(frozen=True)
class Sonnet(Plain):
    spelling: Spelling
    lines: int = 14

@dataclass(frozen=True)
class Odd(Plain):
    what: bytes
"""


@pytest.fixture
def own_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of the module of an installed plugin with kinds of files."""
    (tmp_path / "kinds_of_this_test.py").write_text(OWN_KINDS)
    metadata = tmp_path / "kinds_of_this_test-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: kinds_of_this_test\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[benchrunner]\nkinds = kinds_of_this_test\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "kinds_of_this_test", raising=False)
    return "kinds_of_this_test"


def test_a_plugins_own_kind_of_file_is_read(tmp_path: Path, own_kinds: str) -> None:
    old = 'kind = "table"\nheader = ["index", "prediction"]'
    read = read_board(tmp_path, BOARD_TOML.replace(old, f'kind = "{own_kinds}:Sonnet"\nlines = 12', 1)).files[0].kind
    assert (type(read).__name__, vars(read)) == ("Sonnet", {"spelling": Labels({"sad": "0", "glad": "1"}), "lines": 12})
    bare = BOARD_TOML.replace(LABELS, "", 1)
    read = read_board(tmp_path, bare.replace(old, f'kind = "{own_kinds}:Sonnet"', 1)).files[0].kind
    assert vars(read) == {"spelling": Text(), "lines": 14}
    read = read_board(tmp_path, bare.replace(old, f'kind = "{own_kinds}:Plain"', 1)).files[0].kind
    assert type(read).__name__ == "Plain"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("kinds_of_this_test:Sonet", "no class 'Sonet' that is derived from FileKind. Did you mean Sonnet"),
        ("kinds_of_this_test:dataclass", "has no class 'dataclass' that is derived from FileKind"),
        ("kinds_of_this_test.more:Sonnet", "cannot be imported: ModuleNotFoundError: No module named"),
        ("antigravity:Sonnet", "no installed plugin has the package 'antigravity'"),
        (":Sonnet", "no installed plugin has the package ''"),
        ("kinds_of_this_test:Odd", "Odd cannot be made from the file's keys"),
        ("kinds_of_this_test:Plain", "header: is not a key of this table"),
    ],
)
def test_a_wrong_kind_of_ones_own_is_an_error(tmp_path: Path, own_kinds: str, kind: str, message: str) -> None:
    text = BOARD_TOML.replace('kind = "table"', f'kind = "{kind}"', 1)
    with pytest.raises(PluginError, match=re.escape(message)) as error:
        read_board(tmp_path, text.replace(LABELS, "", 1))
    assert str(error.value).startswith(str(tmp_path / "moods.toml")) and "(Mood.tsv)" in str(error.value)
