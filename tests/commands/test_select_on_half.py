"""`--select-on-half` on the command line and in study files, and what becomes of such a study."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchrunner import RequestError, Workspace
from benchrunner.fits.computing import Computing
from benchrunner.results import Runner, StudyOptions, compared, read_study
from command_line import Shell
from inline import mood

COMPARE = ("compare", "words", "--tasks", "mood", "--quiet", "--device", "cpu", "--max-length", "16")
NOTE = "selected on 12 rows of dev, and scored on the other 12 (--select-on-half)"
HALF = ("--select-on-half", "--lr", "2e-2,1e-5")


def printed(shell: Shell, *words: str) -> Any:
    return shell.json(*COMPARE, *shell.folders(), *words)


def of_dev(cell: Any) -> dict[str, float]:
    return {score["metric"]: score["mean"]["value"] for score in cell["scores"]}


def runner(shell: Shell) -> Runner:
    workspace = Workspace.from_environment(data=shell.folder / "data", runs=shell.folder / "runs")
    return Runner(shell.plugins, workspace, Computing("cpu"))


def test_scores_are_of_the_half_that_did_not_select(shell: Shell) -> None:
    whole = printed(shell, "--lr", "2e-2,1e-5", "--restarts", "2")
    records = {path: path.stat().st_mtime_ns for path in (shell.folder / "runs").glob("*/record.json")}
    half = printed(shell, *HALF, "--restarts", "2")
    assert {path: path.stat().st_mtime_ns for path in (shell.folder / "runs").glob("*/record.json")} == records, (
        "nothing was fitted again, although weights were removed"
    )
    assert any(NOTE in note for note in half["notes"]) and not any("on-half" in note for note in whole["notes"])
    made = runner(shell)
    rows, all_rows = (read_study(study["kept_as"], made).rows() for study in (half, whole))
    assert len(rows) == 12
    scored = all_rows[all_rows["a"].isin(rows["a"])]
    for seed in (0, 1):
        assert rows[f"words seed {seed}"].tolist() == scored[f"words seed {seed}"].tolist()
    shares = [(rows[f"words seed {seed}"] == rows["gold"]).mean() for seed in (0, 1)]
    assert of_dev(half["cells"][0])["accuracy"] == pytest.approx(sum(shares) / 2)


def test_the_table_and_the_report_say_so(shell: Shell) -> None:
    assert NOTE in shell.done(*COMPARE, *shell.folders(), *HALF, "--name", "half")
    shell.done("report", "half", *shell.folders(), "--out", "half.html")
    page = (shell.folder / "half.html").read_text()
    assert NOTE in page


def test_lists_of_runs_show_the_half_that_did_not_select(shell: Shell) -> None:
    half = printed(shell, *HALF)["cells"][0]
    runs = ("--runs", str(shell.folder / "runs"))
    predictions = shell.folder / "runs" / half["selected"] / "predictions"
    for path in predictions.glob("*/record.json"):
        if json.loads((path.parent / "prediction.json").read_text())["half"] == "selecting":
            os.utime(path, (2e9, 2e9))  # newer than the other half
    (row,) = (row for row in shell.json("runs", "list", *runs)["runs"] if row["id"] == half["selected"])
    assert row["score"] == of_dev(half)["accuracy"]
    shown = shell.done("runs", "show", half["selected"], *runs)
    assert "prediction of dev (selecting half, 12 rows)" in shown and "dev (held-out half, 12 rows)" in shown


def test_a_shared_study_is_verified_whole(shell: Shell) -> None:
    shell.done(*COMPARE, *shell.folders(), *HALF, "--method", "finetune,majority", "--name", "half")
    shell.done("share", "half", *shell.folders(), "--out", "shared")
    assert "everything is equal" in shell.done("verify", "shared", "--data", str(shell.folder / "data"))
    content = json.loads((shell.folder / "shared" / "study.json").read_text())
    assert content["data"]["mine/mood"]["dev"]["rows"] == 12
    fit = content["result"]["cells"][0]["candidates"][0]["fits"][0]
    selecting = content["selecting"][fit]["mine/mood"]["dev"]
    assert selecting != content["predictions"][fit]["mine/mood"]["dev"]
    answers = shell.folder / "shared" / "predictions" / f"{selecting}.answers.jsonl"
    lines = answers.read_text().splitlines()
    assert len(lines) == 12
    other = {"glad": "sad", "sad": "glad"}
    forged = [{**json.loads(line), "answer": other[json.loads(line)["answer"]]} for line in lines]
    answers.write_text("".join(json.dumps(line) + "\n" for line in forged))
    code, out, _ = shell("verify", "shared", "--data", str(shell.folder / "data"))
    assert code == 1 and selecting in out, "what selected is verified too"
    readme = (shell.folder / "shared" / "README.md").read_text()
    assert "that one half of dev selected" in readme and "optimistic" not in readme


def test_a_submission_has_figures_of_the_half_held_out(shell: Shell) -> None:
    submit = ("submit", "moods", *shell.folders(), "--quiet", "--device", "cpu")
    half = printed(shell, *HALF, "--name", "half")["cells"][0]
    sources = {
        "study": ("--study", "half"),
        "runs": ("--ensemble", half["selected"], "--select-on-half"),
        "fits": ("--backbone", "words", "--max-length", "16", *HALF),
    }
    for name, words in sources.items():
        made = shell.json(*submit, *words, "--out", f"{name}.zip")
        (file,) = made["manifest"]["files"]
        assert file["fit"] == half["selected"]
        assert file["dev"]["dev accuracy"] == pytest.approx(of_dev(half)["accuracy"])
        assert file["select_on_half"] is True
        assert made["manifest"]["remarks"] == [], "selecting on half of dev is no fault"
    whole = shell.json(*submit, "--ensemble", half["selected"], "--out", "whole.zip")
    assert whole["manifest"]["files"][0]["select_on_half"] is False
    printed(shell, "--name", "whole")
    error = shell.refused(*submit, "--study", "whole", "--select-on-half")
    assert "The study whole selected on all rows of dev: leave --[no-]select-on-half out." in error
    error = shell.refused(*submit, "--study", "half", "--no-select-on-half")
    assert "The study half selected on half of the rows of dev" in error


STUDY = """
title = "A look"
board = "moods"
{recipe}
[[system]]
name = "tiny"
backbone = "words"
{of_system}
[[system]]
name = "others"
backbone = "words"
recipe = {{lr = "2e-2,1e-5"}}
[[column]]
name = "mood"
task = "mine/mood"
{of_column}
"""
ON = 'recipe = {select-on-half = "true"}'


def look(shell: Shell, *, recipe: str = "", of_system: str = "", of_column: str = "") -> tuple[str, ...]:
    text = STUDY.format(recipe=recipe, of_system=of_system, of_column=of_column)
    (shell.folder / "look.toml").write_text(text)
    return ("compare", "--study", "look.toml", *shell.folders(), "--quiet", "--device", "cpu")


@pytest.mark.parametrize("place", ["recipe", "of_column", "option"])
def test_a_study_file_may_select_on_half(place: str, shell: Shell) -> None:
    words = (*look(shell), "--select-on-half") if place == "option" else look(shell, **{place: ON})
    shown = shell.json(*words)
    assert shown["select_on_half"] is True
    assert any(NOTE in note for note in shown["notes"]) and not any("favours" in note for note in shown["notes"])
    assert [command[-1] for command in shown["submissions"].values()] == ["--select-on-half"] * 2
    if place == "recipe":
        without = shell.json(*words, "--no-select-on-half")
        assert without["select_on_half"] is False
        assert any("different budgets: tiny 1 grid point" in n and "favours" in n for n in without["notes"])


def test_wrong_input_is_refused(shell: Shell) -> None:
    error = shell.refused(*look(shell, of_system=ON))
    assert "look.toml: either all systems and columns select on half of dev, or none" in error
    error = shell.refused(*look(shell, recipe='recipe = {select-on-half = "maybe"}'))
    assert "look.toml: recipe: select-on-half" in error and "'maybe'" in error and "true or false" in error
    error = shell.refused(*look(shell, recipe='recipe = {select-on-halves = "true"}'))
    assert "Did you mean select-on-half" in error
    for words in ((), ("--dry-run",)):
        error = shell.refused(*COMPARE, *shell.folders(), "--select-on-half", "--limit-dev", "1", *words)
        assert "dev.tsv has 1 row(s), or groups" in error and "use a larger --limit-dev" in error
    code, _, error = shell(*COMPARE, *shell.folders(), "--select-on-half=yes")
    assert code == 2 and "ignored explicit argument" in error
    assert not list(Path(shell.folder / "runs").glob("*/record.json")), "nothing was fitted"


@pytest.mark.parametrize("value", [1, "yes", 0.5])
def test_a_wrong_value_in_python_is_refused(value: Any) -> None:
    for make in (lambda: StudyOptions(select_on_half=value), lambda: compared(("w",), (mood(),), select_on_half=value)):
        with pytest.raises(RequestError, match="select_on_half"):
            make()
