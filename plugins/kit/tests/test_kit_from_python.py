"""What the commands of the kit write is what Python writes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchrunner.results import Computing, Runner, run_study
from benchrunner_kit.demo import Demo
from command_line import Shell


@pytest.fixture(autouse=True)
def _own_environment(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())  # the demo forbids the hub to the whole process
    monkeypatch.chdir(shell.folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def manifest(path: Path) -> dict[str, object]:
    """Read a manifest without its date."""
    return {key: value for key, value in json.loads(path.read_text()).items() if key != "date"}


def test_the_demo_from_python_is_that_of_the_command(shell: Shell) -> None:
    code, out, _ = shell("demo", "--out", "command", "--device", "cpu", "--jobs", "1", "--quiet")
    demo = Demo.plan(Path("python"), shell.plugins)
    demo.write_data()
    own = Runner(demo.plugins, demo.workspace, Computing("cpu"))
    result = run_study(demo.study, own)
    [submission] = demo.write_submissions(result, own)
    assert code == 0 and submission.faults == ()
    assert submission.path == Path("python", "moods.zip") and f"3. Wrote {Path('command', 'moods.zip')} with" in out
    assert Path("python", "moods.zip").read_bytes() == Path("command", "moods.zip").read_bytes()
    assert manifest(Path("python", "moods.zip.json")) == manifest(Path("command", "moods.zip.json"))
    assert contents(Path("python", "data")) == contents(Path("command", "data"))
