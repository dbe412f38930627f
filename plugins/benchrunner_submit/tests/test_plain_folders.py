"""Submissions that are a plain folder or a single file."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from benchrunner.errors import RequestError
from benchrunner_submit import Answers
from benchrunner_submit.submission_files.checking import detect, findings
from benchrunner_submit.submission_files.manifests import read_manifest
from benchrunner_submit.submission_files.writing import write_answers
from mood_boards import ALONE_BOARD, BOARD, QUESTIONS, ROWS_AT_HAND, SPOKEN, SPOKEN_ANSWERS, answers, zipped


def test_a_board_may_take_a_plain_folder_of_files(tmp_path: Path) -> None:
    path = write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    assert path == tmp_path / "spoken-2.0"
    assert {file.name: json.loads(file.read_text()) for file in path.iterdir()} == {
        "said.json": {"q1": "yes", "q2": ""},
        "doubt.json": {"q1": 0.25, "q2": 1.0},
    }
    assert sorted(file.name for file in tmp_path.iterdir()) == ["spoken-2.0", "spoken-2.0.json"]
    assert findings(SPOKEN, path, manifest=read_manifest(path), tables=ROWS_AT_HAND).faults == []
    assert findings(SPOKEN, path, tables=ROWS_AT_HAND).unchecked == []


def test_a_later_submission_replaces_an_earlier_folder(tmp_path: Path) -> None:
    write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path / "mine")
    later = {("mine/spoken", "dev"): Answers(["no", "no"], QUESTIONS, {"doubt": [0, 0]})}
    assert write_answers(SPOKEN, later, tmp_path / "mine") == tmp_path / "mine"
    assert json.loads((tmp_path / "mine" / "said.json").read_text()) == {"q1": "no", "q2": "no"}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mine", "mine.json"]


@pytest.mark.parametrize("name", ["notes.txt", "said.json.bak", ".hidden"])
def test_a_folder_with_other_files_is_not_overwritten(tmp_path: Path, name: str) -> None:
    home = tmp_path / "spoken-2.0"
    home.mkdir()
    (home / name).write_text("of use")
    with pytest.raises(RequestError, match=r"spoken-2.0 exists and is no earlier submission to Spoken: name another"):
        write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    assert [(file.name, file.read_text()) for file in home.iterdir()] == [(name, "of use")]


def test_a_file_with_the_folders_name_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "spoken-2.0").write_text("of use")
    with pytest.raises(RequestError, match="exists and is no earlier submission"):
        write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    assert (tmp_path / "spoken-2.0").read_text() == "of use"


def test_a_changed_folder_fails_with_its_manifest(tmp_path: Path) -> None:
    path = write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    manifest = read_manifest(path)
    (path / "said.json").write_text('{"q1": "no", "q2": ""}')
    assert findings(SPOKEN, path, manifest=manifest).faults == [
        "spoken-2.0 has changed since its manifest was written; write it again."
    ]


def test_a_file_of_an_extra_figure_needs_that_figure(tmp_path: Path) -> None:
    with pytest.raises(RequestError) as error:
        write_answers(SPOKEN, {("mine/spoken", "dev"): Answers(["yes", ""], QUESTIONS, {"length": [3, 0]})}, tmp_path)
    assert "doubt.json: needs the extra figure 'doubt'; the extra figures of mine/spoken are" in str(error.value)


@pytest.mark.parametrize("table", [None, pa.table({"name": ["q1", "q2"]}), QUESTIONS.slice(0, 1)])
def test_a_file_with_columns_of_the_rows_needs_the_rows(tmp_path: Path, table: pa.Table | None) -> None:
    with pytest.raises(RequestError, match=r"said.json holds columns of the rows of mine/spoken, split dev"):
        write_answers(ALONE_BOARD, {("mine/spoken", "dev"): Answers(["yes", ""], table)}, tmp_path)


def test_a_check_without_the_rows_says_what_it_did_not_check(tmp_path: Path) -> None:
    path = write_answers(ALONE_BOARD, SPOKEN_ANSWERS, tmp_path)
    other_rows = {("mine/spoken", "dev"): pa.table({"id": ["p1", "p2"]})}
    assert findings(ALONE_BOARD, path).faults == []
    (sentence,) = findings(ALONE_BOARD, path).unchecked
    assert sentence.startswith("said.json was checked for its form and its counts; it was not compared with the rows")
    assert (
        len(findings(ALONE_BOARD, path, tables=other_rows).faults) == 2
        and findings(ALONE_BOARD, path, tables=other_rows).unchecked == []
    )
    assert findings(BOARD, write_answers(BOARD, answers(), tmp_path)).unchecked == []


def test_nothing_is_said_of_files_that_are_missing(tmp_path: Path) -> None:
    path = write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    whole = len(findings(SPOKEN, path).unchecked)
    (path / "said.json").unlink()
    assert not any("said.json" in sentence for sentence in findings(SPOKEN, path).unchecked)
    assert (
        len(findings(SPOKEN, path).unchecked) == whole - 1
        and "said.json is missing" in findings(SPOKEN, path).faults[0]
    )


def test_a_single_file_is_checked_by_its_name(tmp_path: Path) -> None:
    path = write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path) / "doubt.json"
    assert findings(SPOKEN, path, tables=ROWS_AT_HAND).faults == []
    assert findings(SPOKEN, path, tables=ROWS_AT_HAND).unchecked == ["A whole submission holds said.json as well."]
    path.write_text('{"q1": 3, "q2": 0}')
    assert findings(SPOKEN, path).faults == [
        "doubt.json, id 'q1': found '3'; expected a number from 0 to 1: clip numbers outside of this range."
    ]


@pytest.mark.parametrize("name", ["Doubt.json", "mine.json", "mine"])
def test_a_single_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    path = (write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path) / "doubt.json").rename(tmp_path / name)
    assert findings(SPOKEN, path, tables=ROWS_AT_HAND).faults == []
    assert findings(SPOKEN, path, tables=ROWS_AT_HAND).unchecked == [
        f"'{name}' was checked as doubt.json; a submission holds it by this name.",
        "A whole submission holds said.json as well.",
    ]


def test_a_single_file_is_known_by_its_suffix(tmp_path: Path) -> None:
    board = replace(SPOKEN, files=(*BOARD.files, SPOKEN.files[1]))
    path = tmp_path / "mine.json"
    path.write_text('{"q1": 3, "q2": 0}')
    (fault,) = findings(board, path).faults
    assert fault.startswith("doubt.json, id 'q1': found '3'")


def test_a_file_that_could_be_several_is_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{"q1": "yes", "q2": 0}')
    assert findings(SPOKEN, path).faults == [
        "'mine.json': neither its name nor its content tells which file this is; call it said.json or doubt.json."
    ]
    assert findings(SPOKEN, path).unchecked == []
    path.write_text('{"q1": 1, "q2": 0, "q3": 0}')  # one fault as a map of numbers, two as a map of texts
    assert findings(SPOKEN, path).faults == ["doubt.json: 3 answers, expected 2."]


def test_a_boards_only_file_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text('{"q1": "a", "q2": 7}')
    assert findings(ALONE_BOARD, path).faults == ["said.json, id 'q2': found '7'; expected a text, in quotes."]
    assert findings(ALONE_BOARD, path, tables=ROWS_AT_HAND).unchecked == []


def test_a_folder_board_accepts_an_archive(tmp_path: Path) -> None:
    path = write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    assert findings(SPOKEN, zipped(tmp_path, {file.name: file.read_bytes() for file in path.iterdir()})).faults == []


def test_boards_that_share_a_file_name_are_told_apart(tmp_path: Path) -> None:
    boards = [ALONE_BOARD, SPOKEN]
    assert detect(boards, write_answers(SPOKEN, SPOKEN_ANSWERS, tmp_path / "any")) is SPOKEN
    assert detect(boards, write_answers(ALONE_BOARD, SPOKEN_ANSWERS, tmp_path)) is ALONE_BOARD
    with pytest.raises(RequestError, match=r"spoken-1.1 and spoken-2.0 fit equally well. Name it with --board"):
        detect(boards, tmp_path / "any" / "said.json")
