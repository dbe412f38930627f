"""The repository of a board: its workflows run no code of a pull request, and its files name each other."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchrunner_kit.scaffolds.writing import package_files
from command_line import Shell

WORKFLOWS = (".github/workflows/verify.yml", ".github/workflows/site.yml")


def steps(name: str) -> tuple[dict[Any, Any], list[dict[str, Any]]]:
    """Read a workflow of a new board, and the steps of its only job."""
    workflow = yaml.safe_load(package_files("board", "towns")[name])
    [job] = workflow["jobs"].values()
    return workflow, job["steps"]


def test_the_command_writes_a_repository(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = shell.done("new", "board", "towns")
    assert out.startswith("towns holds a repository for a board of your own, in 7 files. Try it:\n  cd towns\n  bench")
    assert "pip install -e" not in out
    assert {name: (tmp_path / "towns" / name).read_text() for name in package_files("board", "towns")} == package_files(
        "board", "towns"
    )


def test_nothing_of_a_pull_request_is_run() -> None:
    workflow, found = steps(WORKFLOWS[0])
    assert workflow[True] == {"pull_request_target": {"paths": ["results/**"]}}  # YAML 1.1 reads `on` as true
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    checkouts = [step["with"] for step in found if step.get("uses", "").startswith("actions/checkout")]
    assert [(checkout.get("path"), checkout["persist-credentials"]) for checkout in checkouts] == [
        (None, False),
        ("pull", False),
    ]
    for step in found:
        assert "${{" not in step.get("run", ""), "a text of the pull request would be run"
        assert "pull/" not in step.get("run", "") or step["name"] == "verify"


@pytest.mark.parametrize("name", WORKFLOWS)
def test_scripts_of_the_workflows_are_shell(name: str) -> None:
    for step in steps(name)[1]:
        checked = subprocess.run(["bash", "-n"], input=step.get("run", ""), text=True, capture_output=True)
        assert checked.returncode == 0, checked.stderr


def test_only_the_workflow_of_the_site_may_publish() -> None:
    workflow, found = steps(WORKFLOWS[1])
    assert "pull_request" not in str(workflow[True])
    assert workflow["permissions"] == {"contents": "read", "pages": "write", "id-token": "write"}
    assert found[-1]["uses"].startswith("actions/deploy-pages")
