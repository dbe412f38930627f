"""`--limit-dev N` scores few rows of dev: the same rows for all fits, marked everywhere; nothing is fitted again."""

import json
import operator
from dataclasses import replace
from typing import Any

import pytest

from benchrunner import RequestError, Workspace
from benchrunner.fits.computing import Computing
from benchrunner.results import Runner, Study, StudyOptions, read_study, run_study
from benchrunner.tasks.row_sample import sample
from benchrunner_statistics import AnsweredRows
from command_line import Shell

COMPARE = ("compare", "words", "--tasks", "mood", "--quiet", "--device", "cpu", "--max-length", "16")
NOTE = "scored on 10 random rows of 24 only (--limit-dev)"


def printed(shell: Shell, *words: str) -> Any:
    return shell.json(*COMPARE, *shell.folders(), *words)


def scores(cell: Any) -> dict[str, float]:
    return {row["metric"]: row["mean"]["value"] for row in cell["scores"]}


def kept_all(study: Study) -> Study:
    cells = [replace(cell, fitting=replace(cell.fitting, keep="all")) for cell in study.cells]
    return replace(study, cells=tuple(cells))


def runner(shell: Shell) -> Runner:
    workspace = Workspace.from_environment(data=shell.folder / "data", runs=shell.folder / "runs")
    return Runner(shell.plugins, workspace, Computing("cpu"))


def test_scores_are_those_of_the_drawn_rows(shell: Shell) -> None:
    methods = ("--method", "finetune,probe,majority")
    whole, few = printed(shell, *methods), printed(shell, *methods, "--limit-dev", "10")
    assert (whole["limit_dev"], few["limit_dev"]) == (None, 10)
    made = runner(shell)
    for all_rows, limited in zip(whole["cells"], few["cells"], strict=True):
        assert [fit["id"] for fit in limited["fits"]] == [fit["id"] for fit in all_rows["fits"]]
        rows = AnsweredRows.kept(read_study(whole["kept_as"], made).cells, "dev")
        gold = list(rows.gold or ())
        if all_rows["method"] != "majority":
            right = list(map(operator.eq, rows.answers[all_rows["system"]][0], gold))
            assert scores(all_rows)["accuracy"] == pytest.approx(sum(right) / 24)
            drawn = sample(gold, 10, seed=0)
            assert scores(limited)["accuracy"] == pytest.approx(sum(right[row] for row in drawn) / 10)
    majority = {row["metric"]: row["score"]["value"] for row in few["majority"]}
    assert majority["accuracy"] == pytest.approx(scores(few["cells"][2])["accuracy"])
    assert any(NOTE in note for note in few["notes"]) and not any("limit-dev" in note for note in whole["notes"])
    again = read_study(few["kept_as"], made)
    assert [cell.figures for cell in again.cells] == [
        cell.figures for cell in run_study(kept_all(again.study), made).cells
    ]
    assert len(AnsweredRows.kept(again.cells, "dev").rows) == 10


def test_tables_and_reports_say_so(shell: Shell) -> None:
    out = shell.done(*COMPARE, *shell.folders(), "--limit-dev", "10", "--name", "few", "--notes")
    assert f"C10 mine/mood: {NOTE}" in out
    shell.done("report", "few", *shell.folders(), "--out", "few.html")
    assert NOTE in (shell.folder / "few.html").read_text()
    assert "selected its fits on 10 rows of dev only" in shell.refused("submit", "moods", "--study", "few")
    error = shell.refused("share", "few", *shell.folders(), "--out", "shared")
    assert "The study scores only 10 rows of each dev split (--limit-dev)" in error


def test_lists_and_reports_of_runs_prefer_all_rows(shell: Shell) -> None:
    few = printed(shell, "--limit-dev", "10")["cells"][0]
    run, runs = few["selected"], ("--runs", str(shell.folder / "runs"))

    def listed() -> float:
        printed = json.loads(shell("runs", "list", *runs, "--json")[1])
        return float(next(row["score"] for row in printed["runs"] if row["id"] == run))

    assert listed() == scores(few)["accuracy"]
    whole = printed(shell)["cells"][0]
    printed(shell, "--limit-dev", "5")  # the newest prediction is of few rows
    assert listed() == scores(whole)["accuracy"]
    shell.done("report", run, *shell.folders(), "--out", "run.html")
    page = (shell.folder / "run.html").read_text()
    assert "limit-dev" not in page and "changed since" not in page


def test_a_limit_above_the_rows_changes_nothing(shell: Shell) -> None:
    whole, same = printed(shell), printed(shell, "--limit-dev", "24")
    assert same["cells"] == whole["cells"]
    predictions = list((shell.folder / "runs" / whole["cells"][0]["selected"] / "predictions").iterdir())
    assert len(predictions) == 1


def test_the_rows_of_dev_are_the_same_for_all_seeds(shell: Shell) -> None:
    few = printed(shell, "--restarts", "2", "--limit-dev", "6")
    made = runner(shell)
    rows = made.planner.rows(shell.plugins.tasks.find("mood"), "dev").table
    drawn = sample(rows.column("label").to_pylist(), 6, seed=0)
    seen = AnsweredRows.kept(read_study(few["kept_as"], made).cells, "dev").rows.table
    assert seen.column("a").to_pylist() == rows.take(drawn).column("a").to_pylist()
    assert any("scored on 6 random rows of 24 only" in note for note in few["notes"])


def test_a_submission_is_marked(shell: Shell) -> None:
    words = ("submit", "moods", *shell.folders(), "--quiet", "--device", "cpu", "--json")
    out = shell.done(*words, "--backbone", "words", "--limit-dev", "10")
    manifest = json.loads(out)["manifest"]
    assert [file["limit_dev"] for file in manifest["files"]] == [10]
    assert manifest["remarks"] == ["1 of 1 files is by models that limited dev rows selected: moods.tsv (10 rows)."]
    run = manifest["files"][0]["fit"]
    error = shell.refused(*words, "--ensemble", run, "--limit-dev", "10")
    assert "Finished runs are not fitted again: the option limit_dev has no effect" in error


@pytest.mark.parametrize("value", [0, True, 1.5, "10"])
def test_a_wrong_limit_in_python_is_refused(value: Any) -> None:
    with pytest.raises(RequestError, match="limit_dev"):
        StudyOptions(limit_dev=value)
