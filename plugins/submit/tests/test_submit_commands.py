"""The commands `submit`, `check` and `score`: what they write, and errors that say what to do."""

import json
import zipfile
from datetime import UTC, datetime

import pytest

from command_line import Shell

HERE = ["--data", "data"]
REFUSED: dict[str, tuple[list[str], str]] = {
    "unknown board": (["submit", "mood", "--backbone", "words"], "no leaderboard 'mood'. Did you mean moods?"),
    "file to check": (["check", "absent.zip"], "absent.zip: there is no such file or folder."),
    "file to score, before the data": (["score", "mood", "absent.tsv", "--data", "."], "absent.tsv: cannot be read"),
    "file to score": (["score", "mood", "absent.tsv", *HERE], "absent.tsv: cannot be read: No such file"),
    "gold": (["score", "mood", "data/mood/dev.tsv", "--gold", "absent.tsv"], "--gold absent.tsv: there is no such"),
    "split": (["score", "mood", "x", "--split", "devel", *HERE], "mine/mood has no split 'devel'; it has train, dev"),
    "split without labels": (
        ["score", "mood", "data/mood/dev.tsv", "--split", "test", *HERE],
        "these rows have no labels",
    ),
    "submission below a file": (
        ["submit", "moods", "--backbone", "words", *HERE, "--out", "data/mood/dev.tsv/mine.zip"],
        "mine.zip cannot be written: ",
    ),
    "ensemble that is to be fitted": (
        ["submit", "moods", "--ensemble", "x", "--jobs", "2"],
        "Finished runs are not fitted again: the option executor (or jobs) has no effect",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_request_is_answered_with_what_to_do(name: str, shell: Shell) -> None:
    words, reason = REFUSED[name]
    assert reason in shell.refused(*words)
    assert not list(shell.folder.glob("runs/*/record.json"))


def test_a_submission_with_missing_tasks_is_refused_or_filled(shell: Shell) -> None:
    (shell.folder / "data" / "mood" / "dev.tsv").unlink()
    submit = ("submit", "moods", "--backbone", "words", *shell.folders(), "--quiet")
    error = shell.refused(*submit)
    assert "A submission to moods needs every task, and these are missing:\n  - mine/mood: no data for its spl" in error
    assert "\nNothing was fitted" in error and "hub" not in error
    offline = shell.refused(*submit, "--offline")
    assert "\nThe hub gave no data: it is not asked with --offline.\nNothing was fitted" in offline
    out = shell.done(*submit, "--fill", "majority")
    assert "moods.tsv is filled: no data for its split dev; the training majority" in out
    doubt = "1 of 1 files is filled by the majority, not by a model: moods.tsv."
    assert f"{doubt}\nmoods.zip has the form that is wanted by moods; moods.zip.json says where" in out
    code, out, _ = shell("check", "moods.zip")
    assert (code, out.splitlines()) == (
        0,
        [
            "moods.zip has the form of a valid moods submission, but:",
            f"  - {doubt}",
            "  - The file has the same answer in every row: moods.tsv ('0').",
        ],
    )
    (shell.folder / "moods.zip.json").unlink()
    code, out, _ = shell("check", "moods.zip", "--json")
    checked = json.loads(out)
    remarks = ["The file has the same answer in every row: moods.tsv ('0')."]
    assert (code, checked["valid"], checked["remarks"]) == (0, True, remarks)


def test_the_manifest_says_how_the_answers_were_made(shell: Shell) -> None:
    words = ("submit", "moods", "--backbone", "words", *shell.folders(), "--quiet", "--limit-train", "30", "--json")
    before = datetime.now(UTC).replace(microsecond=0)
    out = shell.done(*words)
    written = json.loads(out)["manifest"]
    assert written == json.loads((shell.folder / "moods.zip.json").read_text())
    [file] = written["files"]
    scores = json.loads(out)["result"]["cells"][0]["scores"]
    assert (file["backbone"], file["limit_train"]) == ("words", 30)
    assert file["dev"] == {f"dev {score['metric']}": score["best_on_dev"]["value"] for score in scores}
    assert "dev accuracy" in file["dev"]
    assert before <= datetime.fromisoformat(written["date"]) <= datetime.now(UTC)
    assert (written["official_counts"], written["filled_files"]) == (True, 0)
    assert "1 of 1 files is by models of limited training rows: moods.tsv (30 rows)." in shell("check", "moods.zip")[1]


def test_a_submission_is_written_and_checked(shell: Shell) -> None:
    out = shell.done("submit", "moods", "--backbone", "words", *shell.folders(), "--quiet", "--out", "sent/mine.zip")
    assert "sent/mine.zip is ready for moods" in out
    assert shell("check", "sent/mine.zip")[0] == 0
    assert "cannot tell which leaderboard" in shell.refused("check", "data/mood")
    gold = shell.refused("check", "sent/mine.zip", "--board", "moods", "--gold", "data/mood/dev.tsv")
    assert "The files of moods name no rows to compare: leave --gold out." in gold
    assert shell("check", "data/mood", "--board", "moods")[0] == 1


def test_a_kept_study_answers_without_fitting_again(shell: Shell) -> None:
    compared = ("compare", "words", "--tasks", "mood", *shell.folders(), "--quiet", "--restarts", "2", "--name", "two")
    assert "  kept as the study two\n" in shell(*compared)[1]
    records = {path: path.stat().st_mtime_ns for path in (shell.folder / "runs").glob("*/record.json")}
    code, out, _ = shell("submit", "moods", "--study", "two", *shell.folders(), "--quiet", "--out", "kept.zip")
    assert (code, records) == (0, {path: path.stat().st_mtime_ns for path in records}), out
    shell("submit", "moods", "--backbone", "words", *shell.folders(), "--quiet", "--restarts", "2", "--out", "own.zip")
    contents = [zipfile.ZipFile(shell.folder / name).read("moods.tsv") for name in ("kept.zip", "own.zip")]
    assert contents[0] == contents[1]
    assert "Did you mean two?" in shell.refused("submit", "moods", "--study", "tow", *shell.folders())


def test_a_submission_the_board_rejects_fails_before_any_fit(shell: Shell) -> None:
    path = shell.folder / "data" / "mood" / "test.tsv"
    path.write_text(path.read_text() + "one more\n")
    error = shell.refused("submit", "moods", "--backbone", "words", *shell.folders())
    assert "has 21 rows; The board of moods wants 20" in error
    error = shell.refused("submit", "moods", "--backbone", "words", "--tasks", "pairs", *shell.folders())
    assert "moods takes no answers to mine/pairs, but to mine/mood." in error
    assert not list(shell.folder.glob("runs/*/model"))


def test_files_are_shown_as_they_were_named(shell: Shell) -> None:
    run = shell.fitted()
    (shell.folder / "own.tsv").write_text("mood\ttext\nglad\ta sunny day\n")
    (shell.folder / "answers.txt").write_text("glad\n")
    out = shell.done("score", "mood", "answers.txt", "--gold", "own.tsv")
    assert out.startswith("answers.txt against own.tsv (1 rows)")
    (shell.folder / "own.tsv").write_text("mood\ttext\ngald\ta sunny day\n")
    assert "benchrunner: own.tsv:2: label 'gald'" in shell.refused("score", "mood", "answers.txt", "--gold", "own.tsv")
    assert "benchrunner: own.txt: " in shell.refused("predict", run, "own.txt")
