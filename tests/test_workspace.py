"""The folders of a workspace, as the environment names them."""

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchrunner import Workspace
from benchrunner.process.platform_facts import home_folder

VARIABLES = ("BENCHRUNNER_CACHE", "BENCHRUNNER_RUNS", "XDG_CACHE_HOME", "HOME")


@pytest.mark.parametrize("home", [None, "", "folder", "/"])
def test_without_a_home_the_cache_is_in_the_runs_folder(home: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)

    def unknown(user: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {user}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert home_folder() is None
    assert Workspace.from_environment(runs=Path("kept")).cache == Path("kept/.cache/benchrunner")
    monkeypatch.setenv("BENCHRUNNER_CACHE", "/tmp/cache")
    assert Workspace.from_environment().cache == Path("/tmp/cache")


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root may become another user")
@pytest.mark.parametrize("words", [["list"], ["list", "backbones"], ["doctor"], ["runs", "list"]])
def test_an_unknown_user_without_home_can_work(words: list[str], tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    program = ["setpriv", "--reuid=64242", "--regid=64242", "--clear-groups", sys.executable]
    environment = {"PATH": os.defpath}
    if subprocess.run([*program, "-c", "import benchrunner"], env=environment, capture_output=True).returncode:
        pytest.skip("another user cannot read this Python or this checkout")
    program += ["-m", "benchrunner"]
    result = subprocess.run([*program, *words], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
