"""Leaderboards in TOML files: the values that are read from them."""

from pathlib import Path

import pytest

from benchrunner.errors import PluginError
from benchrunner.leaderboards.leaderboard import BoardFile
from benchrunner.leaderboards.published import PublishedColumn, PublishedRow
from benchrunner_submit.file_kinds.columns_file import Columns
from benchrunner_submit.file_kinds.json_file import JsonMap
from benchrunner_submit.file_kinds.spellings import Labels, Number, Text
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
