"""Whatever a command does can be called from Python, with the same results: proven command by command."""

import argparse
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchrunner import Workspace
from benchrunner.command_line.main import parser
from benchrunner.io import decoding
from benchrunner.results import (
    Computing,
    Runner,
    StudyOptions,
    answer,
    diagnose,
    discover,
    list_offers,
    run_study,
)
from benchrunner.studies.codes import coded
from benchrunner.studies.comparison.footnotes import footnotes
from benchrunner.studies.comparison.json_values import as_json
from benchrunner_runs.exporting import export
from benchrunner_studies.settling import study_of_file
from benchrunner_submit import answer_file
from benchrunner_submit.own_questions.answer_texts import AnswerTexts
from command_line import Shell

STUDY = """
title = "Which words?"

[parameters.rate]
about = "learning rate"
default = "1e-2"

[recipe]
lr = "{rate}"

[[system]]
name = "tiny"
backbone = "tiny/words"

[[column]]
name = "mood"
task = "mine/mood"
"""


def runner(shell: Shell, runs: str = "python") -> Runner:
    """A runner on the shell's data, with runs of its own: nothing that a command has computed is read."""
    workspace = Workspace.from_environment(data=shell.folder / "data", runs=shell.folder / runs)
    return Runner(shell.plugins, workspace, Computing("cpu"))


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def same_json(value: Any) -> Any:
    """The value as a reader of JSON gets it."""
    return json.loads(json.dumps(decoding.as_json(value)))


def without_seconds(values: dict[str, Any]) -> dict[str, Any]:
    """Leave out how long fits took, which differs from run to run."""
    notes = [note for note in values.get("notes", []) if "seconds of fitting" not in note]
    rest = {name: value for name, value in values.items() if name not in ("computing", "notes")}
    return rest | {"notes": notes}


def list_is_equal(shell: Shell) -> None:
    offers = list_offers(shell.plugins)
    assert shell.json("list") == {kind: same_json(values) for kind, values in offers.items()}
    for kind, values in offers.items():
        out = shell("list", kind)[1]
        names = [value.name.partition("/")[2] if kind == "tasks" else value.name for value in values]
        assert all(f" {name}" in out for name in names)


def doctor_is_equal(shell: Shell) -> None:
    diagnosis = diagnose(shell.plugins, runner(shell, "runs").workspace)
    assert shell.json("doctor", *shell.folders()) == same_json(diagnosis)
    assert not diagnosis.set_aside and not diagnosis.contests


def run_is_equal(shell: Shell) -> None:
    printed = shell.json("run", "mood", "--backbone", "words", *shell.folders(), "--device", "cpu")
    own = runner(shell)
    study = StudyOptions().study(["words"], shell.plugins.tasks_of(["mood"]), own)
    assert without_seconds(printed) == without_seconds(same_json(as_json(run_study(study, own))))


def compare_is_equal(shell: Shell) -> None:
    words = ("--lr", "1e-2,2e-2", "--restarts", "2", *shell.folders(), "--device", "cpu", "--quiet")
    printed = shell.json("compare", "words", "--tasks", "mood", *words)
    own, options = runner(shell), StudyOptions(recipe={"lr": (1e-2, 2e-2)}, restarts=2)
    result = run_study(options.study(["words"], shell.plugins.tasks_of(["mood"]), own), own)
    assert without_seconds(printed) == without_seconds(same_json(as_json(result)))
    code, out, _ = shell("compare", "words", "--tasks", "mood", *words, "--notes")
    assert code == (0 if result.is_complete else 1)
    assert all(f"  {coded(note)}\n" in out for note in footnotes(result))


def compare_with_a_study_is_equal(shell: Shell) -> None:
    (shell.folder / "study.toml").write_text(STUDY)
    words = ("--study", "study.toml", "--set", "rate=2e-2", "--limit-train", "16", "--device", "cpu", "--quiet")
    printed = shell.json("compare", *words, *shell.folders())
    options = StudyOptions(recipe={"limit_train": 16})
    own = runner(shell)
    study = study_of_file("study.toml", own, parameters={"rate": "2e-2"}, options=options)
    result = run_study(study, own)
    assert without_seconds(printed) == without_seconds(same_json(as_json(result)))
    assert {cell["recipe"]["lr"] for cell in printed["cells"]} == {2e-2}


def predict_is_equal(shell: Shell) -> None:
    run = shell.fitted()
    (shell.folder / "mine.txt").write_text("a sunny day\na bleak day\n")
    own = runner(shell, "runs")
    assert shell("predict", run, "mine.txt", *shell.folders())[1] == (
        "".join(AnswerTexts(next(answer_file([run], own, Path("mine.txt")))).lines())
    )
    answered = answer([run], own, split="test")
    shell("predict", run, "--split", "test", "--board", "moods", "--out", "command", *shell.folders())
    written = AnswerTexts(answered).write_board_files(shell.plugins.leaderboards.find("moods"), Path("python"))
    assert written == [Path("python", "moods.tsv")]
    assert contents(Path("python")) == contents(Path("command"))
    code, _, err = shell("predict", run, *shell.folders())
    assert code == 0
    scores = answer([run], own).scores
    assert err.splitlines() == [f"mine/mood {name} {(score.value or 0) * 100:.2f}" for name, score in scores.items()]


def export_is_equal(shell: Shell) -> None:
    run = shell.fitted()
    assert shell("runs", "export", run, "command", *shell.folders())[0] == 0
    export(run, Path("python"), runner(shell, "runs"))
    assert contents(Path("python")) == contents(Path("command")) != {}


PROOFS: Mapping[str, Callable[[Shell], None]] = {
    "list": list_is_equal,
    "doctor": doctor_is_equal,
    "run": run_is_equal,
    "compare": compare_is_equal,
    "compare --study": compare_with_a_study_is_equal,
}
PROOFS_OF_PLUGINS: Mapping[str, Callable[[Shell], None]] = {"predict": predict_is_equal, "export": export_is_equal}


@pytest.mark.parametrize("command", [*PROOFS, *PROOFS_OF_PLUGINS])
def test_python_gives_what_the_command_gives(command: str, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())  # some commands forbid the hub to the whole process
    {**PROOFS, **PROOFS_OF_PLUGINS}[command](shell)


def test_every_command_of_the_core_is_proven() -> None:
    whole = parser(discover(installed=False))
    [commands] = [action for action in whole._actions if isinstance(action, argparse._SubParsersAction)]
    assert set(commands.choices) == {command.split()[0] for command in PROOFS}
