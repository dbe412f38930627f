"""The distributions: their metadata, and what their wheels hold and do."""

import importlib.metadata
import json
import re
import shlex
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from benchrunner.results import discover
from built import build
from distributions import DISTRIBUTIONS, KERNELS, PACKAGES, PLUGINS, ROOT, normalized, project
from documents import shown_commands
from release import released, series
from small_environments import SmallEnvironment

NAMES = [project(home)["name"] for home in DISTRIBUTIONS]
pytestmark = pytest.mark.timeout(3600)  # the first test waits for two archives of each distribution


def test_both_distributions_describe_themselves_alike() -> None:
    core = project(ROOT)
    for home in DISTRIBUTIONS:
        table = project(home)
        for key in ("authors", "license", "license-files", "requires-python"):
            assert table[key] == core[key], f"{home}: {key}"
        assert table["description"] and table["keywords"] == sorted(table["keywords"], key=str.lower), home
        assert (home / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes(), home
        assert (home / table["readme"]).is_file(), home


def test_every_plugin_has_an_entry_point() -> None:
    points = {name: value.split(" ")[0] for name, value in project(ROOT)["entry-points"]["benchrunner"].items()}
    assert points.pop("core") == "benchrunner.builtin"
    ours = [plugin.name for plugin in PLUGINS if plugin.parent != KERNELS]
    assert points == {name.removeprefix("benchrunner_"): name for name in sorted(ours)}


def test_a_release_has_written_all_that_is_shared() -> None:
    for file, text in released(str(project(ROOT)["version"])):
        assert file.read_text(encoding="utf-8") == text, f"{file} is old: run python tests/support/release.py"


@pytest.mark.parametrize(
    ("version", "suits", "fits_not"),
    [
        ("0.1.0", ["0.1.0", "0.1.9"], ["0.0.9", "0.2.0"]),
        ("1.4.2", ["1.0", "1.9"], ["2.0"]),
        ("0.2.0rc1", ["0.2.0rc1"], []),
    ],
)
def test_a_version_suits_its_series(version: str, suits: list[str], fits_not: list[str]) -> None:
    taken = SpecifierSet(series(version))
    assert [known for known in (*suits, *fits_not) if taken.contains(known, prereleases=True)] == suits


def test_a_new_version_is_written_everywhere() -> None:
    texts = dict(released("0.7.1"))
    assert 'version = "0.7.1"' in texts[KERNELS / "pyproject.toml"]
    assert '"benchrunner-kernels>=0.7,<0.8"' in texts[ROOT / "pyproject.toml"]
    assert '"{name}>=0.7,<0.8"' in texts[ROOT / "plugins/benchrunner_kit/scaffolds/writing.py"]
    old = re.compile(rf'version(__)?( =|:) "?{project(ROOT)["version"]}\b')
    assert not [path for path, text in texts.items() if old.search(text)]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive and the wheel of each distribution."""
    folder = tmp_path_factory.mktemp("index")
    build(folder)
    return folder


@pytest.fixture(scope="module")
def wheels(index: Path) -> dict[str, Path]:
    """The wheel of each distribution, by the distribution's name."""
    return {normalized(str(metadata(wheel)["Name"])): wheel for wheel in index.glob("*.whl")}


@pytest.fixture(scope="module")
def installed(index: Path, tmp_path_factory: pytest.TempPathFactory) -> SmallEnvironment:
    """An environment where a command of the docs installed from the folder; it has all other packages already."""
    made = SmallEnvironment(tmp_path_factory.mktemp("installed"))
    page = (ROOT / "docs" / "pretraining.md").read_text(encoding="utf-8")
    [command] = re.findall(r'^pip (install "benchrunner\[pretrain\]")', page, re.MULTILINE)
    pip_install(made, index, *shlex.split(command)[1:])
    return made


def pip_install(environment: SmallEnvironment, index: Path, *words: str) -> str:
    """Install from a folder with the pip of the running environment; return what pip says."""
    python = environment.folder / "venv" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--find-links", index)
    done = subprocess.run([*pip, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return BytesParser().parsebytes(archive.read(name))


def held_files(package: Path) -> set[str]:
    """List the files of a package that a wheel holds: all but its tests and its read-me, where it has them."""
    names = set[str]()
    for file in package.rglob("*"):
        below = file.relative_to(package)
        if file.is_file() and "__pycache__" not in below.parts and below.parts[0] not in ("tests", "README.md"):
            names.add(str(Path(package.name, below)))
    return names


@pytest.mark.slow
def test_a_wheel_holds_its_license_and_its_packages(wheels: dict[str, Path]) -> None:
    assert sorted(wheels) == sorted(NAMES)
    packages = {"benchrunner-kernels": [KERNELS / "benchrunner_kernels"]}
    packages["benchrunner"] = [package for package in PACKAGES if package.parent != KERNELS]
    for name, wheel in wheels.items():
        with zipfile.ZipFile(wheel) as archive:
            held = {entry for entry in archive.namelist() if ".dist-info/" not in entry}
            [license] = [entry for entry in archive.namelist() if entry.endswith(".dist-info/licenses/LICENSE")]
            assert archive.read(license) == (ROOT / "LICENSE").read_bytes()
        wanted = {"benchrunner_start.py"} if name == "benchrunner" else set[str]()
        assert held == wanted.union(*map(held_files, packages[name])), name
        head = metadata(wheel)
        assert (head["Author"], head["License-Expression"]) == ("The benchrunner authors", "Apache-2.0")
        assert head["Description-Content-Type"] == "text/markdown"
        assert f"Homepage, {project(ROOT)['urls']['Homepage']}" in head.get_all("Project-URL", [])


@pytest.mark.slow
def test_a_wheel_keeps_the_versions_of_all_plugins(installed: SmallEnvironment) -> None:
    """They are part of the identity of fits: an editable install and a wheel of the same code share their fits."""
    here = {f"{plugin.name} ({plugin.distribution} {plugin.version})" for plugin in discover().loaded}
    there = set(json.loads(installed("doctor", "--json")[1])["plugins"])
    assert there == {text for text in here if "(benchrunner " in text}


@pytest.mark.slow
def test_twine_finds_no_fault(index: Path) -> None:
    pytest.importorskip("twine", reason="'pip install twine' brings it")
    command = [sys.executable, "-m", "twine", "check", "--strict", *index.iterdir()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.count("PASSED") == 2 * len(DISTRIBUTIONS), done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("extra", sorted(project(ROOT)["optional-dependencies"].keys() - {"dev"}))
def test_every_extra_installs_from_an_index(extra: str, index: Path, wheels: dict[str, Path], tmp_path: Path) -> None:
    asked = {normalized(Requirement(text).name) for text in project(ROOT)["optional-dependencies"][extra]}
    here = {normalized(distribution.name) for distribution in importlib.metadata.distributions()}
    if missing := sorted(asked - here - set(NAMES)):
        pytest.skip(f"'pip install {' '.join(missing)}' brings what this extra asks for")
    told = pip_install(SmallEnvironment(tmp_path), index, "--dry-run", f"benchrunner[{extra}]")
    brought = {name for name in wheels if re.search(rf"\b{name}-\d", told.splitlines()[-1])}
    assert brought == (set(wheels) if extra == "all" else {"benchrunner"}), told


@pytest.mark.slow
def test_the_commands_of_the_readme_work_from_an_index(installed: SmallEnvironment) -> None:
    code, written = installed("doctor", "--json")
    assert code == 0 and json.loads(written)["set_aside"] == [], written
    assert len(json.loads(written)["plugins"]) == len(PLUGINS) - 1, "all but the kernels"
    code, written = installed("demo", "--tasks", "rte")
    assert code == 0 and "Done in" in written, written
    tried = 0
    for command in shown_commands(ROOT / "README.md"):
        if command.startswith("benchrunner compare mine") and "mood.toml" not in command:  # a file of the reader
            for name, here in {"mine bert/base-uncased": "bert/random-tiny", "--tasks glue": "--tasks rte"}.items():
                command = command.replace(name, here)
            words = shlex.split(command)[1:]
            code, written = installed(*words, *("--data", "benchrunner-demo/data", "--dry-run"))
            assert code == 0, written
            tried += 1
    assert tried == 2


@pytest.mark.slow
def test_the_command_line_works_from_wheels_alone(installed: SmallEnvironment) -> None:
    code = "import importlib, sys; print(*(importlib.import_module(name).__file__ for name in sys.argv[1:]), sep='\\n')"
    python = installed.folder / "venv" / "bin" / "python"
    names = [package.name for package in PACKAGES if package.parent != KERNELS]
    done = subprocess.run(
        [python, "-c", code, *names], cwd=installed.folder, capture_output=True, text=True, check=True
    )
    for file in done.stdout.splitlines():
        assert Path(file).is_relative_to(installed.folder), "a package of the checkout was imported"
    code = "import pathlib; from benchrunner.results import discover\n"
    code += "discover().tasks.find('glue/rte').demo_files(pathlib.Path('data'))"
    subprocess.run([python, "-c", code], cwd=installed.folder, check=True)
    fit = ("--backbone", "bert/novels", "--data", "data", "--epochs", "1", "--limit-train", "32", "--device", "cpu")
    returned, written = installed("run", "rte", *fit, "--json", "--quiet")
    assert returned == 0, written
    [cell] = json.loads(written)["cells"]
    [accuracy] = cell["scores"]
    assert 0 <= accuracy["best_on_dev"]["value"] <= 1
    assert installed("predict", cell["selected"], "data/RTE/test.tsv")[1].count("entailment") == 100
