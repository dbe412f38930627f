"""The distributions: their metadata, and what their wheels hold and do."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from setuptools import PEP420PackageFinder

from distributions import HOMES, ROOT, normalized, package, project

NAMES = [project(home)["name"] for home in HOMES]
LEFT_BEHIND = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")


def test_all_distributions_describe_themselves_alike() -> None:
    core = project(ROOT)
    for home in HOMES:
        table = project(home)
        for key in ("version", "authors", "license", "license-files", "requires-python", "classifiers"):
            assert table[key] == core[key], f"{home}: {key}"
        assert table["description"] and table["keywords"] == sorted(table["keywords"], key=str.lower), home
        assert (home / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes(), home
        assert (home / table["readme"]).is_file(), home


def test_folders_of_users_beside_the_core_are_not_installed(tmp_path: Path) -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    for name in ("benchrunner", "benchrunner/io", "benchrunner-demo", "benchrunner_runs"):
        (tmp_path / name).mkdir()
    assert sorted(PEP420PackageFinder.find(str(tmp_path), **patterns)) == ["benchrunner", "benchrunner.io"]


def test_the_version_of_the_core_is_written_once_more_in_code() -> None:
    import benchrunner

    assert benchrunner.__version__ == project(ROOT)["version"]


def test_every_plugin_needs_a_core_of_this_series() -> None:
    for home in HOMES[1:]:
        [core] = [text for text in project(home)["dependencies"] if Requirement(text).name == "benchrunner"]
        assert core == "benchrunner>=0.1,<0.2", home


def test_the_extra_all_names_every_distribution() -> None:
    wanted = [Requirement(text) for text in project(ROOT)["optional-dependencies"]["all"]]
    assert [requirement.name for requirement in wanted] == sorted(NAMES[1:])
    assert {str(requirement.specifier) for requirement in wanted} == {"<0.2,>=0.1"}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel of each distribution, built from copies, so that the checkout stays clean."""
    away = tmp_path_factory.mktemp("wheels")
    sources = []
    for home, name in zip(HOMES, NAMES, strict=True):
        source = away / "sources" / name
        source.mkdir(parents=True)
        for file in ("pyproject.toml", "LICENSE", project(home)["readme"], *modules(home)):
            shutil.copy(home / file, source)
        shutil.copytree(package(home), source / package(home).name, ignore=LEFT_BEHIND)
        sources.append(source)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation")
    done = subprocess.run([*pip, "--wheel-dir", away / "built", *sources], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return away / "built"


@pytest.fixture(scope="module")
def environment(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment with the wheels, which sees the running environment's other packages."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False)
    pip = (sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", "--quiet", "--no-index")
    done = subprocess.run([*pip, "--no-deps", *wheels.glob("*.whl")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [site] = home.glob("lib/python*/site-packages")
    shared = [path for path in sys.path if Path(path).name == "site-packages"]
    (site / "running.pth").write_text("".join(f"{path}\n" for path in shared), encoding="utf-8")
    return home


def modules(home: Path) -> list[str]:
    """The files of a distribution's modules that lie outside of its package."""
    table = tomllib.loads((home / "pyproject.toml").read_text(encoding="utf-8"))
    return [f"{name}.py" for name in table["tool"]["setuptools"].get("py-modules", [])]


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return BytesParser().parsebytes(archive.read(name))


@pytest.mark.slow
def test_a_wheel_holds_its_license_and_its_whole_package(wheels: Path) -> None:
    built = {normalized(str(metadata(wheel)["Name"])): wheel for wheel in wheels.glob("*.whl")}
    assert sorted(built) == sorted(NAMES)
    for home, name in zip(HOMES, NAMES, strict=True):
        folder = package(home)
        files = {
            str(file.relative_to(folder.parent))
            for file in folder.rglob("*")
            if file.is_file() and "__pycache__" not in file.parts
        }
        with zipfile.ZipFile(built[name]) as archive:
            held = {entry for entry in archive.namelist() if ".dist-info/" not in entry}
            [license] = [entry for entry in archive.namelist() if entry.endswith(".dist-info/licenses/LICENSE")]
            assert archive.read(license) == (ROOT / "LICENSE").read_bytes()
        assert held == files.union(modules(home)), name
        head = metadata(built[name])
        assert (head["Author"], head["License-Expression"]) == ("The benchrunner authors", "Apache-2.0")
        assert head["Description-Content-Type"] == "text/markdown"


@pytest.mark.slow
def test_the_command_line_works_from_wheels_alone(environment: Path, tmp_path: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("BENCHRUNNER_", "PYTHON"))}
    variables |= {"BENCHRUNNER_CACHE": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}

    def told(program: str, *words: str) -> str:
        command = [environment / "bin" / program, *words]
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    code = "import importlib, sys; print(*(importlib.import_module(name).__file__ for name in sys.argv[1:]), sep='\\n')"
    for file in told("python", "-c", code, *(package(home).name for home in HOMES)).splitlines():
        assert Path(file).is_relative_to(environment), "a package of the checkout was imported"
    listed = json.loads(told("benchrunner", "list", "--json"))
    assert {plugin["name"] for plugin in listed["plugins"]} >= {package(home).name[12:] for home in HOMES[1:]}
    assert listed["leaderboards"] and listed["studies"]
    assert "--corpus" in told("benchrunner", "pretrain", "--help")

    code = "import pathlib; from benchrunner.results import discover\n"
    code += "discover().tasks.find('glue/rte').demo_files(0, pathlib.Path('data'))"
    told("python", "-c", code)
    fit = ("--backbone", "bert/novels", "--data", "data", "--epochs", "1", "--limit-train", "32", "--device", "cpu")
    [cell] = json.loads(told("benchrunner", "run", "rte", *fit, "--json"))["cells"]
    [accuracy] = cell["scores"]
    assert 0 <= accuracy["best_on_dev"]["value"] <= 1
    assert told("benchrunner", "predict", cell["selected"], "data/RTE/test.tsv").count("entailment") == 100
