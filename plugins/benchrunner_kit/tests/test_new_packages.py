"""A new package works as it stands: its tests pass, its code is clean, and benchrunner shows what it offers."""

from __future__ import annotations

import inspect
import json
import os
import runpy
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from benchrunner_kit.scaffolds.names import LONGEST
from benchrunner_kit.scaffolds.writing import SCAFFOLDS, package_files
from command_line import Shell
from distributions import ROOT

PACKAGES = [kind for kind, scaffold in SCAFFOLDS.items() if scaffold.needs]
NAMES = (
    "a",
    "n" * LONGEST,
    "n_" * (LONGEST // 2 - 1) + "n",
    *("any", "fit", "iterator", "mapping", "none", "options", "outcome", "sentence_problem", "split", "task", "true"),
)
"""The shortest and the longest names, and names that Python or a template uses for something else."""


def written(kind: str, folder: Path, name: str = "fresh") -> Path:
    """Write the files of a new package."""
    for path, text in package_files(kind, name).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def test_the_command_writes_a_package(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = shell("new", "task", "fresh")
    assert (code, err) == (0, "")
    assert out.startswith("fresh holds a task for benchrunner, in 10 files. Try it:\n  cd fresh\n  pip install -e .")
    code, out, err = shell("new", "task", "fresh", "--out", "elsewhere/new", "--json")
    names = json.loads(out)
    assert names["folder"] == "elsewhere/new" and "benchrunner_fresh/__init__.py" in names["files"]
    assert {name: (tmp_path / "fresh" / name).read_text() for name in names["files"]} == package_files("task", "fresh")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "fresh"]


@pytest.mark.parametrize("kind", PACKAGES)
def test_the_tests_of_a_new_package_pass(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Call the tests in this process, where torch is loaded; a slow test runs pytest itself."""
    folder = written(kind, tmp_path / "package")
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in sys.modules if name.startswith("benchrunner_fresh")]:
        monkeypatch.delitem(sys.modules, name)  # of another kind
    module = runpy.run_path(str(folder / "tests" / "test_fresh.py"))
    tests = {name: test for name, test in module.items() if name.startswith("test_")}
    assert tests
    for name, test in tests.items():
        (tmp_path / name).mkdir()
        fixtures = {"tmp_path": tmp_path / name, "capsys": capsys, "monkeypatch": monkeypatch}
        test(**{fixture: fixtures[fixture] for fixture in inspect.signature(test).parameters})


@pytest.mark.parametrize("kind", PACKAGES)
def test_the_code_of_a_new_package_is_clean(kind: str, tmp_path: Path) -> None:
    for name in NAMES:
        written(kind, tmp_path / name, name)
    rules = ",".join(("E", "F", "W", "I", "UP", "B", "SIM", "C4", "PTH", "RET", "RUF"))
    for words in (["check", "--select", rules], ["format", "--check"]):
        done = subprocess.run(
            [Path(sys.executable).parent / "ruff", *words, "--no-cache", "."],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment that sees the packages of the running one, editable ones included."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False)
    [site] = home.glob("lib/python*/site-packages")
    shared = [path for path in sys.path if Path(path).name == "site-packages"]
    (site / "running.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in shared))
    return home


@pytest.mark.slow
@pytest.mark.parametrize("kind", PACKAGES)
def test_a_new_package_is_installed_tested_and_shown(kind: str, environment: Path, tmp_path: Path) -> None:
    name = f"fresh_{kind}"
    folder, python = written(kind, tmp_path / name, name), environment / "bin" / "python"
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("BENCHRUNNER_", "PYTHON"))}

    def told(*words: str | Path, **more: str) -> str:
        done = subprocess.run(words, cwd=folder, env=variables | more, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    away = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation")
    told(sys.executable, "-m", "pip", "--python", python, "install", *away, "-e", ".")
    assert " passed" in told(python, "-m", "pytest", "-q")
    sources = (ROOT, ROOT / "plugins" / "kit", ROOT / "plugins" / "submit")
    mypy = ("--follow-imports", "silent", "--cache-dir", environment / "mypy")
    told(python, "-m", "mypy", *mypy, ".", MYPYPATH=os.pathsep.join(map(str, sources)))
    listed = json.loads(told(python, "-m", "benchrunner", "list", "--json"))
    assert name in [plugin["name"] for plugin in listed["plugins"]]
    offers = SCAFFOLDS[kind].offers
    if offers:
        names = [offer["name"].rsplit("/", 1)[-1] for offer in listed[offers]]
        assert name in names
    elif kind == "command":
        assert "usage: benchrunner" in told(python, "-m", "benchrunner", name, "--help")
