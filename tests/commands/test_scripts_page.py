"""docs/scripts.md and reference/json.md: the keys are those of the commands' JSON, and the workflow works."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

import inline
from benchrunner.command_line.main import main
from command_line import Shell
from distributions import ROOT

SCRIPTS = (ROOT / "docs" / "scripts.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")

PROGRAM = """#!{python}
import sys
sys.path.insert(0, {path!r})
from benchrunner.command_line.main import main
from inline import plugins
sys.exit(main(plugins=plugins(register_backbones=[])))
"""
"""The command of the page's workflow. Without a backbone it imports no torch."""


def listed(command: str) -> list[str]:
    """The keys that the page lists for a command."""
    table = PAGE.split(f"<!-- keys: {command} -->\n", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.M)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The JSON of every command of the page, each with exit code 0 and without a word on standard error."""
    folder = tmp_path_factory.mktemp("scripts")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("BENCHRUNNER_CACHE", str(folder / "cache"))
        patch.setenv("BENCHRUNNER_RUNS", str(folder / "runs"))
        inline.files(1, folder / "data")
        plugins, values = inline.plugins(register_tasks=[inline.mood(), inline.pairs()]), {}

        def run(command: str, *words: str) -> None:
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main([*command.split(), *words, "--json"], plugins=plugins)
            assert (code, err.getvalue()) == (0, ""), (command, err.getvalue())
            values[command] = json.loads(out.getvalue())

        run("submit", "moods", "--backbone", "words", "--data", "data", "--device", "cpu", "--quiet")
        (fit,) = values["submit"]["result"]["cells"]
        run("check", "moods.zip")
        run("predict", fit["selected"], "--data", "data", "--device", "cpu", "--out", "answers.tsv")
        run("audit", "answers.tsv", "--task", "mood", "--data", "data")
        run("calibration", fit["selected"], "--data", "data")
        run("runs export", fit["selected"], "exported", "--device", "cpu")
        run("runs")
    return values


@pytest.mark.parametrize("command", ["check", "audit", "calibration", "predict", "submit", "runs export", "runs"])
def test_the_page_lists_every_key(command: str, printed: dict[str, dict[str, Any]]) -> None:
    assert listed(command) == list(printed[command])


def test_values_are_what_the_page_says(printed: dict[str, dict[str, Any]]) -> None:
    predicted, exported, runs = printed["predict"], printed["runs export"], printed["runs"]
    assert predicted["rows"] == len(predicted["answers"]) == 24 and predicted["files"] == ["answers.tsv"]
    assert 0 <= predicted["scores"]["accuracy"]["value"] <= 1
    assert "tiny.safetensors" in exported["files"]
    assert (printed["check"]["valid"], printed["check"]["faults"]) == (True, [])
    named = PAGE.split("| `runs` | ", 1)[1].split("\n", 1)[0]
    assert all(f"`{key}`" in named for key in list(runs["runs"][0])[:14])


@pytest.mark.parametrize(
    "words",
    [
        ["check", "absent.zip"],
        ["submit", "moods", "--backbone", "wrods"],
        ["submit", "moods", "--backbone", "words", "--of", "words"],
        ["runs", "show", "absent"],
    ],
)
def test_errors_in_json_mode_are_sentences(words: list[str], shell: Shell) -> None:
    folders = {"check": [], "runs": ["--runs", "runs"]}.get(words[0], ["--data", "data", "--runs", "runs"])
    error = shell.refused(*words, *folders, "--json")
    assert error.startswith("benchrunner: ") and not error.startswith("benchrunner: {")


def test_the_workflow_tells_valid_submissions_and_others(printed: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    """The steps run in a shell as GitHub runs them, with a board of the tests."""
    text = re.search(r"```yaml\n(.*?)```", SCRIPTS, re.S)
    assert text is not None
    steps = yaml.safe_load(text[1])["jobs"]["check"]["steps"]
    scripts = {step.get("name"): step.get("run", "").replace("glue", "moods") for step in steps}
    check, summarize = scripts["check the submission"], scripts["list the faults"]
    (tmp_path / "benchrunner").write_text(PROGRAM.format(python=sys.executable, path=str(Path(inline.__file__).parent)))
    (tmp_path / "benchrunner").chmod(0o755)
    summary = tmp_path / "summary.md"
    paths = f"{tmp_path}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": paths, "GITHUB_STEP_SUMMARY": str(summary)}

    def step(script: str) -> int:
        line = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(line, cwd=tmp_path, env=environment).returncode

    with zipfile.ZipFile(tmp_path / "moods.zip", "w") as archive:
        archive.writestr("moods.tsv", "id\tmood\n" + "".join(f"{row}\t1\n" for row in range(20)))
    assert (step(check), step(summarize)) == (0, 0)
    assert summary.read_text() == "moods.zip is valid\n"
    with zipfile.ZipFile(tmp_path / "moods.zip", "w") as archive:
        archive.writestr("moods.tsv", "id\tmood\n0\t7\n")
    assert (step(check), step(summarize)) == (1, 0)
    assert "moods.zip is not valid\n- " in summary.read_text()
