"""What stands on disk is whole, or it is not there."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchrunner.errors import DamagedFile, RequestError, UnknownName
from benchrunner.fits.fit import Fit, Prediction, Record
from benchrunner.io import files as files_module
from benchrunner.io.files import write_atomically, write_folder_atomically, write_json
from benchrunner.io.json_form import as_json
from benchrunner.metrics import Score
from benchrunner.parameters.recipes import Recipe
from benchrunner.process.platform_facts import current_umask, flush_to_disk
from benchrunner.runs import folder as folder_module
from benchrunner.runs.folder import RunFolder, find_run

RECORD = Record(
    "abc",
    "done",
    scores={"f1": Score(0.5), "r": Score(None, "constant")},
    flags=("odd",),
    timings={"s": 1.0},
    notes=("n",),
)
FIT = Fit("mine/mood", "words", "finetune", Recipe(), 0, "d", {"kind": "x"}, "r", {"core": "1"})


class Crash(BaseException):
    """The power goes."""


STEPS = ("write", "sync", "replace")


@pytest.fixture(params=STEPS)
def crash(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """A writer that fails, or a disk that does, at one step of a write."""

    def fails(*_: object) -> None:
        raise Crash

    if request.param == "sync":
        monkeypatch.setattr(files_module, "flush_to_disk", fails)
    if request.param == "replace":
        monkeypatch.setattr(Path, "replace", fails)

    def writer(write: Callable[[Path], Any]) -> Callable[[Path], Any]:
        def half(part: Path) -> None:
            write(part)
            if request.param == "write":
                raise Crash

        return half

    yield writer


def fill(part: Path) -> None:
    (part / "a").write_text("new")
    (part / "deeper").mkdir()
    (part / "deeper" / "b").write_text("new")


def test_a_crash_at_any_step_leaves_the_old_file(crash: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(Crash):
        write_atomically(tmp_path / "file", crash(lambda part: part.write_text("new")))
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("file", "old")]


def test_a_crash_at_any_step_leaves_no_folder(crash: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(Crash):
        write_folder_atomically(tmp_path / "folder", crash(fill))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_written_again_is_replaced_whole(tmp_path: Path) -> None:
    write_folder_atomically(tmp_path / "folder", lambda part: (part / "old").write_text("old"))
    write_folder_atomically(tmp_path / "folder", fill)
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*"))
    assert left == ["folder", "folder/a", "folder/deeper", "folder/deeper/b"]


def test_files_and_folders_have_the_usual_permissions(tmp_path: Path) -> None:
    write_json(tmp_path / "file", 1)

    def files(part: Path) -> None:
        fill(part)
        (part / "a").chmod(0o600)  # as safetensors leaves its files

    write_folder_atomically(tmp_path / "folder", files)
    umask = current_umask()
    for name, usual in (("file", 0o666), ("folder", 0o777), ("folder/a", 0o666), ("folder/deeper", 0o777)):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == usual & ~umask


def test_a_record_is_the_same_after_a_way_through_json(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, "abc")
    assert folder.record() is None
    folder.keep_record(RECORD)
    assert folder.record() == RECORD


BAD = ["{", "[]", "{}", "\x00", json.dumps({**as_json(RECORD), "scores": {"f1": 3}})]


@pytest.mark.parametrize("text", BAD)
def test_an_unreadable_record_is_reported_with_file_and_remedy(text: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, "abc")
    folder.path.mkdir()
    (folder.path / "record.json").write_text(text)
    with pytest.raises(RequestError, match=r"abc/record\.json:.*[.?] Remove .*abc and repeat the command"):
        folder.record()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", json.dumps({**as_json(FIT), "recipe": {"lr": -1}})])
def test_a_fit_that_cannot_be_read_names_its_file(text: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, FIT.id)
    folder.path.mkdir()
    (folder.path / "fit.json").write_text(text)
    with pytest.raises(RequestError, match=r"fit\.json:.*\. Remove .* and repeat the command"):
        folder.fit()


def test_a_fit_in_a_folder_of_another_name_is_not_believed(tmp_path: Path) -> None:
    for name in (FIT.id, "elsewhere"):
        RunFolder(tmp_path, name).keep_fit(FIT)
    assert RunFolder(tmp_path, FIT.id).fit() == FIT
    with pytest.raises(RequestError, match=f"this file is of {FIT.id}, and its folder is that of elsewhere"):
        RunFolder(tmp_path, "elsewhere").fit()
    with pytest.raises(RequestError, match=r"fit.json: cannot be read: No such file"):
        RunFolder(tmp_path, "absent").fit()


def test_a_run_is_found_by_its_id_its_beginning_or_its_folder(tmp_path: Path) -> None:
    for name in ("abcd", "abef", "ab"):
        write_json(tmp_path / name / "fit.json", {})
    for reference in ("abc", "abcd", "run:abcd", "run:abc", str(tmp_path / "abcd")):
        assert find_run(tmp_path, reference).path.name == "abcd"
    assert find_run(tmp_path, "ab").path.name == "ab", "a whole id is not ambiguous"
    with pytest.raises(RequestError, match="'a' could be the runs ab, abcd, abef: give more"):
        find_run(tmp_path, "a")
    with pytest.raises(UnknownName, match=r"no run 'abce'. Did you mean"):
        find_run(tmp_path, "abce")


@pytest.mark.parametrize("reference", ["run:", "", "nonsense"])
def test_where_there_are_no_runs_it_says_where_it_looked(reference: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=f"There is no run '.*'. Looked in {tmp_path / 'none'}; "):
        find_run(tmp_path / "none", reference)


def test_answers_may_hold_any_separator_of_lines(tmp_path: Path) -> None:
    answers = [f"one{mark}two" for mark in "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e" + "\r\n"] + ["last"]
    assert kept_answers(tmp_path, answers) == answers


def test_answers_may_hold_half_a_character(tmp_path: Path) -> None:
    assert kept_answers(tmp_path, ["\udc80"]) == ["\udc80"]


def kept_answers(runs: Path, answers: list[str]) -> list[str]:
    """Write a prediction with these answers and read them."""
    prediction, folder = Prediction("abc", "mine/mood", "dev", "d", {}), RunFolder(runs, "abc")
    home = folder.prediction(prediction.id)
    home.mkdir(parents=True)
    record = replace(RECORD, id=prediction.id)
    folder_module.write_prediction(home, prediction, record, folder_module.answer_lines(answers))
    kept = folder.prediction_record(prediction.id)
    assert kept is not None and folder_module.read_prediction(home) == prediction
    return folder_module.read_answers(home, kept)


def test_the_record_of_another_fit_is_not_believed(tmp_path: Path) -> None:
    for name in (RECORD.id, "elsewhere"):
        RunFolder(tmp_path, name).keep_record(RECORD)
    assert RunFolder(tmp_path, RECORD.id).finished_record() == RECORD
    with pytest.raises(DamagedFile, match=f"this file is of {RECORD.id}, and its folder is that of elsewhere"):
        RunFolder(tmp_path, "elsewhere").finished_record()


def test_folders_are_flushed_after_what_they_hold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file whose folder is not on the disk is lost when the power fails."""
    flushed = list[str]()
    monkeypatch.setattr(files_module, "flush_to_disk", lambda path: flushed.append(path.name.partition(".part")[0]))
    write_atomically(tmp_path / "file", lambda part: part.write_text("new"))
    assert len(flushed) == 2 and flushed[-1] == tmp_path.name
    flushed.clear()
    write_folder_atomically(tmp_path / "folder", fill)
    assert sorted(flushed[1:-1]) == ["a", "b", "deeper"] and flushed[-1] == tmp_path.name


def test_the_entries_of_a_folder_are_flushed_to_the_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_ino))
    flush_to_disk(tmp_path)
    assert flushed == [tmp_path.stat().st_ino]
