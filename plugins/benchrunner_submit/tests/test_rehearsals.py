"""Rehearsals: a whole submission of a few rows, with or without data, that cannot be taken for a real one."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from benchrunner import RequestError
from benchrunner_submit.submissions import rehearsal
from command_line import Shell
from inline import mood, pairs, plugins, wide_board

SUBMIT = ("submit", "moods", "--backbone", "words", "--rehearse", "--quiet")


def test_rows_are_generated_where_there_is_no_data(shell: Shell) -> None:
    out = shell.done(*SUBMIT)
    assert out.startswith("rehearsal-moods.zip: 1 file has the form that The board of moods asks for")
    assert "must not be handed in: fits of 32 training rows answer at most 32 rows of each test file (generated" in out
    assert not Path("runs").exists() and not Path("moods.zip").exists()


def test_a_rehearsal_is_marked_in_name_archive_and_manifest(shell: Shell) -> None:
    shell.done(*SUBMIT, *shell.folders())
    assert zipfile.ZipFile("rehearsal-moods.zip").namelist() == ["moods.tsv", "REHEARSAL.txt"]
    manifest = json.loads(Path("rehearsal-moods.zip.json").read_text())
    assert manifest["marks"]["rehearsal"] and "A rehearsal, which must not be handed in" in manifest["remarks"][0]
    Path("rehearsal-moods.zip").rename("moods.zip")
    code, out, _ = shell("check", "moods.zip")
    assert code == 1 and "REHEARSAL.txt: this is a rehearsal. Hand in what 'submit' writes without" in out


def test_a_rehearsal_is_not_valid_with_its_manifest(shell: Shell) -> None:
    shell.done(*SUBMIT)
    code, out, _ = shell("check", "rehearsal-moods.zip", "--board", "moods", "--counts-from-manifest")
    assert code == 1 and "REHEARSAL.txt: this is a rehearsal." in out and "1 problem; moods would not accept it" in out
    assert "valid" not in out


def test_only_the_first_rows_are_read_and_one_fit_made(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "ROWS", 7)
    shell.done(*SUBMIT, *shell.folders(), "--lr", "1e-2,2e-2", "--restarts", "3")
    lines = zipfile.ZipFile("rehearsal-moods.zip").read("moods.tsv").splitlines()
    assert len(lines) == 1 + 7
    [file] = json.loads(Path("rehearsal-moods.zip.json").read_text())["files"]
    assert (file["limit_train"], file["limit_dev"]) == (7, 7)
    assert not (shell.folder / "runs").exists()


def test_what_would_stop_the_real_submission_is_listed(shell: Shell) -> None:
    path = shell.folder / "data" / "mood" / "test.tsv"
    path.write_text(path.read_text() + "one more\n")
    code, out, _ = shell("submit", "wide", *SUBMIT[2:], *shell.folders())
    assert code == 1
    assert "stop the real submission:\n  - mine/pairs: no data for its split train\n  - texts.tsv: " in out
    assert "test.tsv has 21 rows; The wide board wants 20\n" in out
    code, out, _ = shell("submit", "wide", *SUBMIT[2:], *shell.folders(), "--json")
    assert (code, len(json.loads(out)["stops"])) == (1, 2)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--fill", "majority"], "A rehearsal leaves out what is missing, and says so: leave --fill out."),
        (["--partial"], "leave --partial out."),
        (["--out", "/dev/null"], "/dev/null cannot be written: this is a pipe or a device; name another place."),
    ],
)
def test_what_has_no_meaning_in_a_rehearsal_is_refused(words: list[str], reason: str, shell: Shell) -> None:
    assert reason in shell.refused(*SUBMIT, *words)


def test_finished_runs_need_no_rehearsal(shell: Shell) -> None:
    error = shell.refused("submit", "moods", "--ensemble", shell.fitted(), "--rehearse", *shell.folders())
    assert "Finished runs need no rehearsal" in error


def test_a_finished_run_is_rehearsed_as_a_backbone(shell: Shell) -> None:
    run = shell.fitted()
    shell.done("submit", "moods", "--backbone", f"run:{run}", "--rehearse", "--quiet", *shell.folders())


def test_a_task_that_generates_no_rows_asks_for_data(shell: Shell) -> None:
    shell.plugins = plugins(register_tasks=[mood(demo_files=None), pairs()], register_leaderboards=[wide_board()])
    with pytest.raises(RequestError, match="would hold answers of a model"):
        raise RequestError(shell.refused("submit", "wide", *SUBMIT[2:]))
