"""What the command `report` writes is what Python writes."""

from __future__ import annotations

import html
import json
import shutil
from pathlib import Path

from benchrunner import Workspace
from benchrunner.results import Computing, Runner, read_study
from benchrunner_report.rendering import write_report
from command_line import Shell


def test_the_report_from_python_is_that_of_the_command(shell: Shell) -> None:
    words = ("words", "--tasks", "mood", "--restarts", "2", "--name", "two", *shell.folders(), "--device", "cpu")
    assert shell("compare", *words, "--quiet")[0] == 0
    code, out, err = shell("report", "two", "--out", "command.html", *shell.folders(), "--json")
    assert code == 0, err
    assert json.loads(out) == {"path": "command.html", "bytes": Path("command.html").stat().st_size}
    workspace = Workspace.from_environment(data=shell.folder / "data", runs=shell.folder / "runs")
    own = Runner(shell.plugins, workspace, Computing("cpu"))
    write_report(read_study("two", own), Path("python.html"), own)
    assert Path("python.html").read_bytes() == Path("command.html").read_bytes()


def test_rows_are_shown_without_the_option_for_data(shell: Shell) -> None:
    """The kept study knows the folder; where it was removed, standard error and the page say why rows are missing."""
    words = ("words", "--tasks", "mood", "--restarts", "2", "--name", "two", *shell.folders(), "--device", "cpu")
    assert shell("compare", *words, "--quiet")[0] == 0
    runs = ("--runs", str(shell.folder / "runs"), "--offline")
    code, _, err = shell("report", "two", "--out", "with.html", *runs)
    assert (code, err) == (0, "") and "rows cannot be shown" not in Path("with.html").read_text()
    shutil.rmtree(shell.folder / "data")
    code, _, err = shell("report", "two", "--out", "without.html", *runs)
    assert code == 0 and "The report shows no rows of mine/mood" in err and "--data DIR" in err
    assert err.removeprefix("benchrunner: ").strip() in html.unescape(Path("without.html").read_text())
