"""What the commands `share` and `check` write and find is what Python does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchrunner import Workspace
from benchrunner.engine import decoding
from benchrunner.results import Computing, Runner, read_study
from benchrunner_share.share import share_study
from benchrunner_share.verifying.verify import verify_folder
from command_line import Shell


def printed_json(shell: Shell, *words: str) -> dict[str, Any]:
    code, out, err = shell(*words, "--json")
    assert code == 0, err
    printed: dict[str, Any] = json.loads(out)
    return printed


def same_json(value: Any) -> Any:
    """The value as a reader of JSON gets it."""
    return json.loads(json.dumps(decoding.as_json(value)))


def test_the_folder_from_python_is_that_of_the_command(shell: Shell) -> None:
    words = ("words", "--tasks", "mood", "--restarts", "2", "--name", "two", *shell.folders(), "--device", "cpu")
    assert shell("compare", *words, "--quiet")[0] == 0
    workspace = Workspace.from_environment(data=shell.folder / "data", runs=shell.folder / "runs")
    own = Runner(shell.plugins, workspace, Computing("cpu"))
    printed = printed_json(shell, "share", "two", "--out", "command", *shell.folders())
    ours = {**same_json(share_study(read_study("two", own), Path("python"), own)), "folder": "command"}
    assert printed.pop("fingerprint") and ours.pop("fingerprint")  # they differ: the files name their second
    assert printed == ours
    verified = verify_folder(Path("command"), shell.plugins, own.workspace)
    assert printed_json(shell, "check", "command", "--data", "data") == same_json(verified)
