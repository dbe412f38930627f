"""Received folders that are malformed or hostile: each is refused in a sentence, and nothing outside of it is read."""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from shared_folders import SharedFolder

from benchrunner import RequestError
from benchrunner_share.documents.contents import FORMAT
from benchrunner_share.verifying import answer_files
from benchrunner_share.verifying.received_folder import ReceivedFolder, UnreadableFile


def test_links_are_not_followed(folder: SharedFolder, tmp_path: Path) -> None:
    _, prediction = folder.selected()
    path = folder.path / f"predictions/{prediction}.answers.jsonl"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    (folder.path / "loop").symlink_to(folder.path)
    text = folder.differences()
    assert f"'predictions/{prediction}.answers.jsonl' is a symbolic link, and is not read." in text
    assert "'loop' is a symbolic link, and is not read." in text
    assert f"'predictions/{prediction}.answers.jsonl' is missing." in text


def test_huge_files_are_not_read(folder: SharedFolder) -> None:
    """The files are sparse, and no byte of them is read."""
    fit, prediction = folder.selected()
    os.truncate(folder.path / f"fits/{fit}.json", 2**30)
    os.truncate(folder.path / f"predictions/{prediction}.answers.jsonl", 2**23)
    (folder.path / "manifest.json").write_text('{"files": {}}')
    text = folder.differences()
    assert f"'fits/{fit}.json' is larger than 8 MiB, and is not read." in text


@pytest.mark.parametrize("name", ["report.html", "notes/any", "predictions/0123456789abcdef.answers.jsonl"])
def test_huge_folders_are_refused_before_anything_is_read(
    name: str, folder: SharedFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(received: ReceivedFolder, name: str) -> NoReturn:
        raise AssertionError(f"{name} was opened")

    (folder.path / name).parent.mkdir(exist_ok=True)
    (folder.path / name).touch()
    os.truncate(folder.path / name, 2**42)
    monkeypatch.setattr(ReceivedFolder, "_open", opened)
    with pytest.raises(RequestError, match="has more than 2 GiB; 'benchrunner share' writes no such folder"):
        folder.verification()


def test_a_large_study_is_not_parsed(folder: SharedFolder) -> None:
    """A list of small numbers takes 40 times the size of the file in memory."""
    text = (folder.path / "study.json").read_text()
    (folder.path / "study.json").write_text(text.replace("{", f'{{"more": [{"1," * 2**22}1],', 1))
    with pytest.raises(RequestError, match=r"'study.json' is larger than 8 MiB, and is not read"):
        folder.verification()


def test_wrong_answers_are_refused_at_the_first_block(folder: SharedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of a file that 'share' did not write are not all kept until the last is read."""
    lines = ReceivedFolder.lines

    def first_lines(received: ReceivedFolder, name: str) -> Iterator[bytes]:
        for number, line in enumerate(lines(received, name)):
            assert number < 10
            yield line

    monkeypatch.setattr(answer_files, "BLOCK", 100)
    monkeypatch.setattr(ReceivedFolder, "lines", first_lines)
    _, prediction = folder.selected()
    text = (folder.path / f"predictions/{prediction}.answers.jsonl").read_text()
    (folder.path / "predictions/wrong.answers.jsonl").write_text(text.replace('{"index": 2', '{ "index": 2'))
    problem = folder.runner.plugins.tasks.find("mine/mood").problem
    with pytest.raises(UnreadableFile, match=r"line 3: '{ \"index\": 2.* stands there"):
        answer_files.read_answers(ReceivedFolder(folder.path), "wrong", 24, problem)


def test_a_huge_line_is_not_read(folder: SharedFolder) -> None:
    folder.edit_answers(lambda lines: lines.__setitem__(0, " " * 2**23))
    assert "line 1: longer than 4 MiB, and is not read." in folder.differences()


BROKEN: dict[str, Callable[[dict[str, Any]], object]] = {
    "no result": lambda study: study.update(result={}),
    "a result of numbers": lambda study: study.update(result=[1, 2]),
    "no tasks": lambda study: study["result"].update(cells=[]),
    "another task": lambda study: study["result"]["cells"][0].update(task="mine/other"),
    "no data": lambda study: study.pop("data"),
    "a path for an id": lambda study: study["result"]["cells"][0]["candidates"][0]["fits"].__setitem__(
        0, "../../secret"
    ),
    "no format": lambda study: study.pop("format"),
    "a later format": lambda study: study.update(format=FORMAT + 1),
    "a date that is none": lambda study: study.update(answered="now"),
    "an unknown field": lambda study: study["result"]["cells"][0]["candidates"][0]["recipe"].update(evil=1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_study_that_is_not_understood_is_refused(name: str, folder: SharedFolder) -> None:
    folder.edit("study.json", BROKEN[name])
    with pytest.raises(RequestError, match=r"received: "):
        folder.verification()


def deep(depth: int) -> str:
    """Return brackets inside brackets."""
    return "[" * depth + "]" * depth


@pytest.mark.parametrize("depth", [110, 900, 100_000])
def test_deep_values_are_refused_in_one_sentence(depth: int, folder: SharedFolder) -> None:
    """Python parses the second depth, but cannot copy it or write it again."""
    fit, _ = folder.selected()
    path = folder.path / "fits" / f"{fit}.json"
    data = folder.read(f"fits/{fit}.json")
    data["fit"]["problem"] = {"deep": "HERE"}
    path.write_text(json.dumps(data).replace('"HERE"', deep(depth)))
    assert f"'fits/{fit}.json': lists and objects are nested more than 100 deep." in folder.differences()
    text = (folder.path / "study.json").read_text()
    (folder.path / "study.json").write_text(text.replace('"url": null', f'"url": {deep(depth)}'))
    with pytest.raises(RequestError, match=r"'study.json': lists and objects are nested more than 100 deep"):
        folder.verification()


def test_a_path_for_a_prediction_is_never_opened(folder: SharedFolder, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}")
    fit, _ = folder.selected()
    folder.edit("study.json", lambda study: study["predictions"][fit]["mine/mood"].update(dev="../../secret"))
    with pytest.raises(RequestError, match="is not an id of 16 hexadecimal digits"):
        folder.verification()


VALUES = (None, True, -1, 0.123, 1e308, 10**30, "", "../..", [], {}, [1], {"a": 1}, "0123456789abcdef")


@pytest.mark.parametrize("seed", range(30))
def test_random_edits_end_in_a_sentence(seed: int, folder: SharedFolder) -> None:
    """A value of any kind in any place differs, is refused, or is one that nobody can prove; nothing fails."""
    draw = random.Random(seed)
    fit, prediction = folder.selected()
    for name in draw.sample(["study.json", "study.json", f"fits/{fit}.json", f"predictions/{prediction}.json"], 2):
        data = folder.read(name)
        place: Any = data
        while isinstance(place, dict | list) and place:
            holder, key = place, draw.choice(list(place) if isinstance(place, dict) else range(len(place)))
            place = holder[key]
        holder[key] = draw.choice(VALUES)
        (folder.path / name).write_text(json.dumps(data))
        with contextlib.suppress(Exception):
            folder.deceive()
    with contextlib.suppress(RequestError):
        folder.verification()


def test_other_folders_are_refused(original: SharedFolder, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"is not a folder of 'benchrunner share': 'study.json' is missing"):
        SharedFolder(tmp_path, original.runner).verification()
