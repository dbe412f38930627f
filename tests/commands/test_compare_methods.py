"""`compare --method A,B` compares methods: a row for each backbone and method, with the statistics of other rows."""

import json
from typing import Any

import pytest

from benchrunner import Workspace
from benchrunner.results import Computing, Runner, StudyOptions, read_study, run_study
from benchrunner.runs.predicting import predict
from benchrunner_statistics import AnsweredRows, paired_test
from benchrunner_statistics.corrections import directional
from command_line import Shell

QUIET = ("--quiet", "--device", "cpu", "--max-length", "16")
COMPARE = ("compare", "words", "--tasks", "mood")
METHODS = ("--method", "finetune,probe,majority")
NAMES = ["words (finetune)", "words (probe)", "words (majority)"]


def compared(shell: Shell, *words: str) -> Any:
    return shell.json(*COMPARE, *shell.folders(), *QUIET, *words)


def runner(shell: Shell) -> Runner:
    workspace = Workspace.from_environment(data=shell.folder / "data", runs=shell.folder / "runs")
    return Runner(shell.plugins, workspace, Computing("cpu"))


def test_each_method_has_the_row_it_has_alone(shell: Shell) -> None:
    together = compared(shell, *METHODS, "--against", NAMES[0])
    assert [system["name"] for system in together["systems"]] == NAMES
    assert (together["backbones"], together["methods"]) == (["words"], ["finetune", "probe", "majority"])
    for name, cell in zip(NAMES, together["cells"], strict=True):
        alone = compared(shell, "--method", cell["method"])
        (own,) = alone["cells"]
        assert (cell["system"], own["system"]) == (name, "words")
        for key in ("method", "selected", "recipe", "scores", "fits"):
            assert cell[key] == own[key], key
    assert {test["with"] for test in together["comparisons"]} == {NAMES[0]}
    assert [test["system"] for test in together["comparisons"]] == NAMES[1:]
    made = runner(shell)
    result = read_study(together["kept_as"], made)
    metric = result.study.tasks[0].metrics[0]
    rows = AnsweredRows.of_result(result)
    gold = rows.gold or []
    answers = [rows.answers[name][0] for name in NAMES[:2]]
    answers.append(predict(result.of(NAMES[2], "mine/mood").restarts[0], "dev", made).answers)
    tests = [paired_test(metric, gold, [own], [answers[0]]) for own in answers[1:]]
    tested = dict(zip(NAMES[1:], tests, strict=True))
    family = {name: test for name, test in tested.items() if test.method != "equal answers"}
    adjusted = directional({(name, NAMES[0]): test.p for name, test in family.items()})
    for shown in together["comparisons"]:
        name = shown["system"]
        assert shown["difference"] == tested[name].difference
        assert shown["adjusted_p"] == adjusted.get((name, NAMES[0]), 1.0)


def test_a_grid_belongs_to_the_fits_that_read_it(shell: Shell) -> None:
    shown = compared(shell, *METHODS, "--lr", "1e-2,2e-2", "--restarts", "2")
    assert [len(cell["fits"]) for cell in shown["cells"]] == [4, 2, 1]
    own = runner(shell)
    options = StudyOptions(
        recipe={"lr": (1e-2, 2e-2), "max_length": 16}, method=("finetune", "probe", "majority"), restarts=2
    )
    result = run_study(options.study(["words"], shell.plugins.tasks_of(["mood"]), own), own)
    for cell, expected in zip(result.cells, shown["cells"], strict=True):
        assert [fit.id for fit in cell.cell.fits] == [fit["id"] for fit in expected["fits"]]


def test_any_recipe_field_is_a_grid_that_the_caption_names(shell: Shell) -> None:
    words = (*COMPARE, *shell.folders(), *QUIET, "--method", "finetune,majority", "--lr", "1e-2")
    out = shell.done(*words, "--set", "weight-decay=0.5,0", "summary=mean", "clip=0", "--notes")
    assert "weight decay 0." in out and "clip" not in out
    first, second = shell.json(*words, "--set", "weight-decay=0.5,0", "summary=mean", "clip=0")["cells"]
    grid = [(fit["recipe"]["weight_decay"], fit["recipe"]["summary"], fit["recipe"]["clip"]) for fit in first["fits"]]
    assert grid == [(0.5, "mean", 0.0), (0.0, "mean", 0.0)]
    assert len(second["fits"]) == 1


def test_methods_without_steps_show_no_learning_rate(shell: Shell) -> None:
    for method in ("majority", "probe"):
        out = shell.done("run", "mood", "--backbone", "words", *shell.folders(), *QUIET, "--notes", "--method", method)
        assert method in out
        assert not [word for word in ("epochs", "batch size", "learning rate") if word in out]
        assert ("16 tokens, fp32" in out) == (method == "probe")
    error = shell.refused("run", "mood", *shell.folders(), "--method", "majority", "--lr", "1e-3")
    assert "The option lr is for methods that train in steps" in error


def test_tables_reports_and_shared_folders_name_the_rows(shell: Shell) -> None:
    out = shell.done(*COMPARE, *shell.folders(), *QUIET, *METHODS, "--name", "ways", "--notes")
    assert all(name in out for name in NAMES)
    assert "finetune/probe/majority" in out and "backbone (method)" in out
    out = shell.done(*COMPARE, *shell.folders(), *QUIET, *METHODS, "--format", "csv")
    assert [line.split(",")[0] for line in out.splitlines()] == ["system", *NAMES]
    folders = ("--runs", str(shell.folder / "runs"), "--data", str(shell.folder / "data"))
    shell.done("report", "ways", *folders, "--out", "ways.html")
    assert all(name in (shell.folder / "ways.html").read_text() for name in NAMES)
    shell.done("share", "ways", *folders, "--out", "shared")
    shell.done("check", "shared", "--data", str(shell.folder / "data"))


def test_a_dry_run_has_a_line_for_each_method(shell: Shell) -> None:
    lines = shell.json(*COMPARE, *shell.folders(), *QUIET, *METHODS, "--lr", "1e-2,2e-2", "--dry-run")["fits"]
    assert [(line["systems"], line["method"], line["fits"]) for line in lines] == [
        ([NAMES[0]], "finetune", 2),
        ([NAMES[1]], "probe", 1),
        ([NAMES[2]], "majority", 1),
    ]


STUDY = """
title = "Which way?"
[recipe]
max-length = "16"
[[system]]
name = "tiny"
backbone = "words"
method = ["finetune", "{second}"]
[parameters.second]
about = "another method"
default = "probe"
[[column]]
name = "mood"
task = "mine/mood"
"""


def test_a_system_of_a_study_file_has_a_row_for_each_method(shell: Shell) -> None:
    (shell.folder / "ways.toml").write_text(STUDY)
    words = ("compare", "--study", "ways.toml", *shell.folders(), "--quiet", "--device", "cpu", "--json")
    out = shell.done(*words)
    shown = json.loads(out)
    methods = {cell["method"] for cell in shown["cells"]}
    assert methods == {"finetune", "probe"}
    assert [test["system"] for test in shown["comparisons"]] == ["tiny (probe)"]
    out = shell.done(*words, "--systems", "tiny (probe)")
    assert {cell["method"] for cell in json.loads(out)["cells"]} == {"probe"}
    error = shell.refused(*words, "--method", "finetune,probe")
    assert error == "benchrunner: The study ways.toml says which methods are used: leave the method out.\n"


WRONG = {
    "unknown": ((*COMPARE, "--method", "finetune,prob"), "There is no method 'prob'. Did you mean probe?"),
    "twice": ((*COMPARE, "--method", "probe,probe"), "A study may name each method only once, not probe, probe."),
    "empty": ((*COMPARE, "--method", "probe,"), "--method must be a text, not ''."),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_methods_are_refused(name: str, shell: Shell) -> None:
    words, message = WRONG[name]
    assert message in shell.refused(*words, *shell.folders())
