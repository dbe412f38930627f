"""Manifests: where each file comes from, and that demo data never passes as official."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchrunner.errors import RequestError
from benchrunner_submit import Answers
from benchrunner_submit.submission_files.checking import findings
from benchrunner_submit.submission_files.manifests import manifest_path, read_manifest
from benchrunner_submit.submission_files.writing import write_answers
from mood_boards import BOARD, FILES, answers, zipped


def test_the_manifest_says_where_each_file_comes_from(tmp_path: Path) -> None:
    with_origins = answers() | {
        ("mine/mood", "test"): Answers(["sad"] * 4, fit="ab12", method="finetune"),
        ("mine/warmth", "test"): Answers([1, 1, 1], fit="cd34", method="majority", filled="no fit of mine/warmth"),
    }
    path = write_answers(BOARD, with_origins, tmp_path)
    manifest = read_manifest(path)
    mood_file, verdict, warmth = manifest.files
    assert (mood_file.file, mood_file.fit, mood_file.method, mood_file.filled) == ("Mood.tsv", "ab12", "finetune", "")
    assert (verdict.rows, verdict.official_rows, verdict.task, verdict.split) == (3, 3, "mine/verdict", "test_far")
    assert manifest.filled == (warmth,) and warmth.filled == "no fit of mine/warmth"
    assert manifest.has_official_counts and manifest.board == "moods"
    assert json.loads(manifest_path(path).read_text())["official_counts"] is True
    assert findings(BOARD, path, manifest=manifest).faults == []


def demo(tmp_path: Path) -> Path:
    return write_answers(BOARD, answers(mood=["sad"]), tmp_path, counts={"Mood.tsv": 1})


def test_a_demo_archive_never_passes_as_an_official_one(tmp_path: Path) -> None:
    path = demo(tmp_path)
    assert findings(BOARD, path).faults[0] == "Mood.tsv: 1 answer, expected 4."
    assert not read_manifest(path).has_official_counts


def test_a_demo_archive_passes_with_its_own_manifest(tmp_path: Path) -> None:
    path = demo(tmp_path)
    assert findings(BOARD, path, manifest=read_manifest(path)).faults == []


def test_a_changed_archive_fails_with_its_manifest(tmp_path: Path) -> None:
    path = demo(tmp_path)
    manifest = read_manifest(path)
    zipped(tmp_path, FILES).replace(path)
    assert findings(BOARD, path, manifest=manifest).faults[0] == (
        "moods.zip has changed since its manifest was written; write it again."
    )


def test_the_manifest_of_another_board_is_a_fault(tmp_path: Path) -> None:
    path = write_answers(BOARD, answers(), tmp_path)
    problems = findings(replace(BOARD, name="other"), path, manifest=read_manifest(path)).faults
    assert problems == ["The manifest describes an archive for moods, not for other."]


def test_a_count_for_an_unknown_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"Moods has no file Moood.tsv, for which a row count was given"):
        write_answers(BOARD, answers(), tmp_path, counts={"Moood.tsv": 1})


def test_a_missing_manifest_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"There is no manifest .*other.zip.json: only archives that bench"):
        read_manifest(zipped(tmp_path, FILES))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "a JSON object was expected"),
        ("[" * 100_000, "lists and objects are nested more than 100 deep"),
        ('{"format": 1}', "format: expected 2, found 1"),
        (
            '{"format": 2, "board": "moods", "archive_sha256": "", "files": [{"file": "Mood.tsv"}]}',
            r"\[\[files\]\] 1 \(Mood.tsv\): task: is missing",
        ),
    ],
)
def test_a_wrong_manifest_is_an_error(tmp_path: Path, content: str, message: str) -> None:
    path = zipped(tmp_path, FILES)
    manifest_path(path).write_text(content)
    with pytest.raises(RequestError, match=message):
        read_manifest(path)
