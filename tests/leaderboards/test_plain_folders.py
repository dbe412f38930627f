"""Submissions that are a plain folder or a single file."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from benchrunner.errors import RequestError
from benchrunner.leaderboards.checking import detect, find_faults, unchecked
from benchrunner.leaderboards.file_kind import Answers
from benchrunner.leaderboards.manifests import read_manifest
from benchrunner.leaderboards.writing import write_answers
from mood_boards import ALONE_BOARD, BOARD, QUESTIONS, ROWS_AT_HAND, SPOKEN, SPOKEN_ANSWERS, answers, zipped


def test_a_board_may_take_a_plain_folder_of_files(tmp_path: Path) -> None:
    path = write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    assert path == tmp_path / "spoken-2.0"
    assert {one.name: json.loads(one.read_text()) for one in path.iterdir()} == {
        "said.json": {"q1": "yes", "q2": ""},
        "doubt.json": {"q1": 0.25, "q2": 1.0},
    }
    assert sorted(one.name for one in tmp_path.iterdir()) == ["spoken-2.0", "spoken-2.0.json"]
    assert find_faults(SPOKEN, path, manifest=read_manifest(path), tables=ROWS_AT_HAND) == []
    assert unchecked(SPOKEN, path, tables=ROWS_AT_HAND) == []


def test_a_later_submission_takes_the_folder_of_an_earlier_one(tmp_path: Path) -> None:
    write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path / "mine")
    later = {("mine/spoken", "dev"): Answers(["no", "no"], QUESTIONS, {"doubt": [0, 0]})}
    assert write_answers(SPOKEN, later, tmp_path / "mine") == tmp_path / "mine"
    assert json.loads((tmp_path / "mine" / "said.json").read_text()) == {"q1": "no", "q2": "no"}
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mine", "mine.json"]


@pytest.mark.parametrize("name", ["notes.txt", "said.json.bak", ".hidden"])
def test_a_folder_that_holds_anything_else_is_not_written_over(tmp_path: Path, name: str) -> None:
    home = tmp_path / "spoken-2.0"
    home.mkdir()
    (home / name).write_text("of use")
    with pytest.raises(RequestError, match=r"spoken-2.0 is there and is no earlier submission to Spoken: name another"):
        write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    assert [(one.name, one.read_text()) for one in home.iterdir()] == [(name, "of use")]


def test_a_file_in_the_folders_place_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "spoken-2.0").write_text("of use")
    with pytest.raises(RequestError, match="is there and is no earlier submission"):
        write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    assert (tmp_path / "spoken-2.0").read_text() == "of use"


def test_a_folder_that_changed_does_not_pass_by_its_manifest(tmp_path: Path) -> None:
    path = write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    manifest = read_manifest(path)
    (path / "said.json").write_text('{"q1": "no", "q2": ""}')
    assert find_faults(SPOKEN, path, manifest=manifest) == [
        "spoken-2.0 has changed since its manifest was written; write it again."
    ]


def test_a_file_of_figures_beside_the_answers_needs_them(tmp_path: Path) -> None:
    with pytest.raises(RequestError) as told:
        write_answers(SPOKEN, {("mine/spoken", "dev"): Answers(["yes", ""], QUESTIONS, {"length": [3, 0]})}, tmp_path)
    assert "doubt.json: it holds 'doubt'; beside the answers to mine/spoken there is length." in str(told.value)


@pytest.mark.parametrize("table", [None, pa.table({"name": ["q1", "q2"]}), QUESTIONS.slice(0, 1)])
def test_a_file_that_names_rows_needs_them(tmp_path: Path, table: pa.Table | None) -> None:
    with pytest.raises(RequestError, match=r"said.json: the rows of mine/spoken, split dev, are needed, with id"):
        write_answers(ALONE_BOARD, {("mine/spoken", "dev"): Answers(["yes", ""], table)}, tmp_path)


def test_what_a_check_without_the_rows_does_not_see_is_said(tmp_path: Path) -> None:
    path = write_answers(ALONE_BOARD, SPOKEN_ANSWERS, tmp_path)
    others = {("mine/spoken", "dev"): pa.table({"id": ["p1", "p2"]})}
    assert find_faults(ALONE_BOARD, path) == []
    (said,) = unchecked(ALONE_BOARD, path)
    assert said.startswith("said.json was checked for its form and its counts; it was not compared with the rows of")
    assert len(find_faults(ALONE_BOARD, path, tables=others)) == 2 and unchecked(ALONE_BOARD, path, tables=others) == []
    assert unchecked(BOARD, write_answers(BOARD, answers(), tmp_path)) == []


def test_one_file_alone_is_checked_as_what_its_name_says(tmp_path: Path) -> None:
    path = write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path) / "doubt.json"
    assert find_faults(SPOKEN, path, tables=ROWS_AT_HAND) == []
    assert unchecked(SPOKEN, path, tables=ROWS_AT_HAND) == ["A whole submission holds said.json as well."]
    path.write_text('{"q1": 3, "q2": 0}')
    assert find_faults(SPOKEN, path) == [
        "doubt.json, id 'q1': found '3'; expected a number from 0 to 1: clip what lies outside."
    ]
    renamed = path.rename(tmp_path / "Doubt.json")
    assert "'Doubt.json' must be called doubt.json, to the letter; it is read as that here." in find_faults(
        SPOKEN, renamed
    )
    assert find_faults(SPOKEN, renamed.rename(tmp_path / "mine.json")) == [
        "'mine.json': its name does not tell which file this is; call it said.json or doubt.json."
    ]


def test_the_only_file_of_a_board_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text('{"q1": "a", "q2": 7}')
    assert find_faults(ALONE_BOARD, path) == ["said.json, id 'q2': found '7'; expected a text, in quotes."]
    assert unchecked(ALONE_BOARD, path, tables=ROWS_AT_HAND) == []


def test_files_of_a_folder_are_accepted_in_an_archive(tmp_path: Path) -> None:
    path = write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    assert find_faults(SPOKEN, zipped(tmp_path, {one.name: one.read_bytes() for one in path.iterdir()})) == []


def test_boards_with_a_file_of_one_name_are_told_apart_by_the_other_files_or_by_the_folders_name(
    tmp_path: Path,
) -> None:
    boards = [ALONE_BOARD, SPOKEN]
    assert detect(boards, write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path / "any")) is SPOKEN
    assert detect(boards, write_answers(ALONE_BOARD, SPOKEN_ANSWERS, tmp_path)) is ALONE_BOARD
    with pytest.raises(RequestError, match=r"spoken-1.1 and spoken-2.0 fit alike. Name the board"):
        detect(boards, tmp_path / "any" / "said.json")
