"""The commands `submit`, `check` and `audit`: what they write, and errors that say what to do."""

import json
import re
import zipfile
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from benchrunner import Split, TextTable
from benchrunner_submit import BoardFile
from command_line import Shell
from inline import board, mood, plugins

HERE = ["--data", "data"]
REFUSED: dict[str, tuple[list[str], str]] = {
    "unknown board": (["submit", "mood", "--backbone", "words"], "no leaderboard 'mood'. Did you mean moods?"),
    "file to check": (["check", "absent.zip"], "absent.zip: there is no such file or folder."),
    "gold": (["audit", "x", "--task", "mood", "--gold", "absent.tsv"], "--gold absent.tsv: there is no such"),
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


def test_a_submission_without_any_data_is_refused(shell: Shell) -> None:
    (shell.folder / "data" / "mood" / "dev.tsv").unlink()
    submit = ("submit", "moods", "--backbone", "words", *shell.folders(), "--quiet")
    for way in ([], ["--fill", "majority"], ["--partial"]):
        error = shell.refused(*submit, *way)
        assert (
            "No file of a submission to moods would hold answers of a model:\n  - mine/mood: no data for its" in error
        )
        assert "\nNothing was fitted or written. Give the data with --data DIR; " in error and "hub" not in error
    offline = shell.refused(*submit, "--offline")
    assert "\nThe hub gave no data: it is not asked with --offline.\nNothing was fitted" in offline
    assert not list(shell.folder.glob("*.zip"))


def test_a_submission_with_gaps_is_refused_with_the_remedies(shell: Shell) -> None:
    submit = ("submit", "wide", "--backbone", "words", *shell.folders(), "--quiet")
    error = shell.refused(*submit)
    assert "needs every task, and these are missing:\n  - mine/pairs: no data for its split train\n" in error
    assert all(remedy in error for remedy in ("--data DIR", "--partial", "--fill majority"))
    error = shell.refused(*submit, "--tasks", "mood")
    assert "mine/pairs: not among --tasks\n" in error and "Name all tasks in --tasks" in error
    error = shell.refused("submit", "wide", "--ensemble", shell.fitted(), *shell.folders())
    assert "none of the finished runs is of this task\n" in error and "Give a finished run of each" in error


def test_gaps_are_filled(shell: Shell) -> None:
    submit = ("submit", "wide", "--backbone", "words", *shell.folders(), "--quiet")
    out = shell.done(*submit, "--fill", "majority")
    assert (
        "grades.tsv holds majority answers, not a model's: no data for its split train; no training rows to count, so '"
        in out
    )
    doubt = "1 of 2 files is filled in, not answered by a model: grades.tsv."
    alike = "C1 1 of 2 files has the same answer in every row: grades.tsv ('1.0')."
    assert (
        f"{doubt}\n{alike}\nwide.zip has every file, but read the remarks above before you hand it in to wide; " in out
    )
    code, out, _ = shell("check", "wide.zip", "--board", "wide")
    verdict = "wide.zip has the form of a valid wide submission, but read the remarks above."
    assert code == 0 and out.startswith(f"Remark: {doubt}\nRemark: {alike}\n{verdict}\n")
    (shell.folder / "wide.zip.json").unlink()
    checked = shell.json("check", "wide.zip", "--board", "wide")
    assert checked["valid"] and doubt not in checked["remarks"] and len(checked["remarks"]) == 1


def test_a_part_of_a_submission_is_marked_as_incomplete(shell: Shell) -> None:
    submit = ("submit", "wide", "--backbone", "words", *shell.folders(), "--quiet")
    out = shell.done(*submit, "--partial")
    remark = "Incomplete: 1 of 2 files is missing: grades.tsv."
    assert f"{remark}\nwide-partial.zip holds what there is for wide; " in out
    assert zipfile.ZipFile("wide-partial.zip").namelist() == ["texts.tsv"]
    manifest = json.loads((shell.folder / "wide-partial.zip.json").read_text())
    assert manifest["missing"] == {"grades.tsv": "no data for its split train"}
    check = ("check", "wide-partial.zip", "--board", "wide")
    code, out, _ = shell(*check)
    faults = "grades.tsv is missing; every file must be there."
    assert code == 1 and out.startswith(f"{faults}\nRemark: {remark}\nwide-partial.zip: 1 problem; ")
    assert shell("check", "--json", *check[1:])[0] == 1
    assert f"Remark: {remark}\n" in shell.done(*check, "--counts-from-manifest")
    assert "wide.zip has" in shell.done(*submit, "--partial", "--fill", "majority"), "everything could be filled"


def test_a_missing_test_file_leaves_its_own_file_out_alone(shell: Shell) -> None:
    two = BoardFile("late.tsv", "mine/mood", "late", 20, board().files[0].kind)
    late = replace(board(), name="late", archive="late.zip", files=(*board().files, two))
    task = mood()
    task = replace(task, splits={**task.splits, "late": Split("test", (TextTable("mood/late.tsv", {"a": "text"}),))})
    shell.plugins = plugins(register_tasks=[task], register_leaderboards=[late])
    submit = ("submit", "late", "--backbone", "words", *shell.folders(), "--quiet")
    assert "  - late.tsv: no data for its split late of mine/mood\n" in shell.refused(*submit)
    shell.done(*submit, "--partial")
    assert zipfile.ZipFile("late-partial.zip").namelist() == ["moods.tsv"]
    shell.done(*submit, "--fill", "majority")
    origins = json.loads((shell.folder / "late.zip.json").read_text())["files"]
    assert [bool(origin["fit"]) for origin in origins] == [True, False] and origins[1]["dev"] == {}


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
    assert (
        "Remark: C9 1 of 1 files is by models of limited training rows: moods.tsv (30 rows)."
        in shell("check", "moods.zip")[1]
    )


def test_a_submission_is_written_and_checked(shell: Shell) -> None:
    out = shell.done("submit", "moods", "--backbone", "words", *shell.folders(), "--quiet", "--out", "sent/mine.zip")
    assert "sent/mine.zip is ready for moods" in out
    assert shell("check", "sent/mine.zip")[0] == 0
    assert "cannot tell which leaderboard" in shell.refused("check", "data/mood")
    gold = shell.refused("check", "sent/mine.zip", "--board", "moods", "--gold", "data/mood/dev.tsv")
    assert "The files of moods name no rows to compare: leave --gold out." in gold
    assert shell("check", "data/mood", "--board", "moods")[0] == 1


def test_submit_says_what_check_says_of_equal_answers(shell: Shell) -> None:
    out = shell.done("submit", "moods", "--backbone", "words", *shell.folders(), "--quiet", "--method", "majority")
    alike = "C1 The file has the same answer in every row: moods.tsv ('0')."
    assert f"{alike}\nmoods.zip has every file, but read the remarks above before you hand it in to moods; " in out
    assert f"Remark: {alike}\n" in shell.done("check", "moods.zip")


def test_a_kept_study_answers_without_fitting_again(shell: Shell) -> None:
    compared = ("compare", "words", "--tasks", "mood", *shell.folders(), "--quiet", "--restarts", "2", "--name", "two")
    [following] = re.findall("next: benchrunner (report.* two)\n", shell(*compared)[1])
    assert "two" in shell.done(*following.split(), "--out", "two.html"), "the line can be pasted"
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
    audit = ("audit", "answers.txt", "--task", "mood", "--gold", "own.tsv")
    out = shell.done(*audit)
    assert out.startswith("answers.txt against own.tsv (1 rows)")
    (shell.folder / "own.tsv").write_text("mood\ttext\ngald\ta sunny day\n")
    assert "benchrunner: own.tsv:2: label 'gald'" in shell.refused(*audit)
    assert "benchrunner: own.txt: " in shell.refused("predict", run, "own.txt")


def test_notes_on_the_fits_are_counted_unless_asked(shell: Shell) -> None:
    """A probe notes its penalty for each task: such notes would push what matters off the screen."""
    shifted = mood(name="mine/other")
    shifted = replace(
        shifted, splits={**shifted.splits, "train": replace(shifted.splits["dev"], role="train", rows=None)}
    )
    (shell.folder / "data" / "mood" / "dev.tsv").write_text(
        "text\tmood\n" + "a sunny day\tglad\na bleak day\tsad\n" * 6
    )
    moods = [mood(), shifted]
    other = replace(board().files[0], name="other.tsv", task="mine/other")
    both = replace(board(), files=(*board().files, other))
    shell.plugins = plugins(register_tasks=moods, register_leaderboards=[both])
    submit = ("submit", "moods", "--backbone", "words", "--method", "probe", *shell.folders(), "--quiet")
    out = shell.done(*submit)
    assert "cross-validation chose" not in out and " notes: --notes\n" in out
    assert shell.done(*submit, "--notes").count("cross-validation chose") == 2
