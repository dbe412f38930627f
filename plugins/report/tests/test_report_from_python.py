"""What the command `report` writes is what Python writes."""

from __future__ import annotations

import json
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
