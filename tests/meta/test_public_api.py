"""The public names: complete, all that plugins use of others, and described truly by the package itself."""

import ast
import importlib
import inspect
import operator
import re
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import benchrunner
import benchrunner.engine
import benchrunner.results
import benchrunner_bert
import benchrunner_checkpoints
import benchrunner_clusters
import benchrunner_files
import benchrunner_kinds
import benchrunner_kit.testing
import benchrunner_report
import benchrunner_statistics
import benchrunner_submit
import benchrunner_tasks
from benchrunner.errors import BenchrunnerError
from benchrunner_kit.testing import tiny_family
from distributions import PLUGINS, ROOT, modules_of
from import_graph import named_imports
from inline import ROWS, files, plugins

PACKAGE = Path(benchrunner.__file__).parent
MOST_NAMES = {
    benchrunner: 80,
    benchrunner.engine: 50,
    benchrunner.results: 50,
    benchrunner_kit.testing: 50,
    benchrunner_submit: 40,
    benchrunner_report: 20,
    benchrunner_bert: 5,
    benchrunner_files: 5,
    benchrunner_kinds: 10,
    benchrunner_tasks: 20,
    benchrunner_statistics: 10,
    benchrunner_checkpoints: 10,
    benchrunner_clusters: 5,
}
"""Each module of names -> how many it may have, so that a person can read its page in five minutes."""
STUBS = [path for surface in MOST_NAMES if (path := Path(str(surface.__file__)).with_suffix(".pyi")).exists()]


@pytest.mark.parametrize("surface", MOST_NAMES, ids=lambda surface: surface.__name__)
def test_all_is_complete_importable_and_short(surface: ModuleType) -> None:
    for name in surface.__all__:
        assert getattr(surface, name) is not None  # imports the names that are imported at their first use
    assert len(set(surface.__all__)) == len(surface.__all__) <= MOST_NAMES[surface]
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        surface.absent  # noqa: B018


def test_no_name_stands_in_two_public_modules() -> None:
    names = [name for surface in MOST_NAMES for name in surface.__all__]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("file", STUBS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_stub_exports_what_it_imports(file: Path) -> None:
    """Type checkers take `import A as A` for a public name, and `import A` for a name of the stub alone."""
    stub = ast.parse(file.read_text(encoding="utf-8"))
    aliases = [alias for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert [alias.name for alias in aliases if alias.asname != alias.name] == []


def private_imports(source: str, package: str) -> list[str]:
    """List what a module of a plugin's package imports from the core or from another plugin, public names apart."""
    public = {(surface.__name__, name) for surface in MOST_NAMES for name in surface.__all__}
    others = {"benchrunner", *(plugin.name for plugin in PLUGINS)} - {package}
    found = []
    for node, module, name in named_imports(ast.parse(source)):
        if module.partition(".")[0] in others and (module, name) not in public:
            found.append(f"line {node.lineno}: {module} {name}".rstrip())
    return found


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_plugins_import_public_names_only(plugin: Path) -> None:
    wrong = {}
    for file in modules_of(plugin):
        if private := private_imports(file.read_text(encoding="utf-8"), plugin.name):
            wrong[str(file.relative_to(ROOT))] = private
    assert wrong == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from benchrunner_report import StudyTable, visible", ""),
        ("from benchrunner.results import Runner\nimport benchrunner_share.board.site", ""),
        ("from benchrunner_report import drawings", "line 1: benchrunner_report drawings"),
        ("from benchrunner_report import *", "line 1: benchrunner_report *"),
        ("from benchrunner_report.table import StudyTable", "line 1: benchrunner_report.table StudyTable"),
        ("import json, benchrunner_report.pages as pages", "line 1: benchrunner_report.pages"),
        ("from benchrunner.runs.folder import RunFolder", "line 1: benchrunner.runs.folder RunFolder"),
        ("def late():\n    from benchrunner_glue.table import GLUE", "line 2: benchrunner_glue.table GLUE"),
        ("if TYPE_CHECKING:\n    from benchrunner_runs import sizes", "line 2: benchrunner_runs sizes"),
        ("import_module('benchrunner_report.pages')", "line 1: benchrunner_report.pages"),
        ("importlib.import_module(name='benchrunner.runs')", "line 1: benchrunner.runs"),
        ("__import__('benchrunner_kernels')", "line 1: benchrunner_kernels"),
    ],
)
def test_every_way_to_import_is_seen(source: str, found: str) -> None:
    assert "".join(private_imports(source, "benchrunner_share")) == found


def test_every_error_is_in_the_tree_that_is_drawn() -> None:
    errors = importlib.import_module("benchrunner.errors")
    drawn = re.findall(r"[├└─│\s]*(\w+(?:Error|Name|Undefined)?) {3,}", errors.__doc__ or "")
    classes = {
        name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, BaseException)
    }
    assert classes == {*drawn, "BenchrunnerError"}
    assert all(issubclass(getattr(errors, name), BenchrunnerError) for name in classes)


def test_every_module_says_what_it_is_for() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert path.read_text().startswith('"""'), path


def test_names_that_texts_advise_exist() -> None:
    texts = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *(file for plugin in PLUGINS for file in modules_of(plugin)),
    ]
    for text in texts:
        for surface, name in re.findall(r"`benchrunner\.(engine|results)\.([\w.]+)`", text.read_text(encoding="utf-8")):
            operator.attrgetter(f"{surface}.{name}")(benchrunner)  # an AttributeError names it


def test_the_core_knows_no_benchmark_and_no_model() -> None:
    known = re.compile(r"glue|squad|bert|\bcola\b|\bmnli\b|\bstsb?\b|\bswag\b|conll", re.IGNORECASE)
    lines = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if known.search(line)
    ]
    assert lines == []


def test_the_documented_lines_work_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run the example of the package's docstring, with plugins that offer the backbones and the task that it names."""
    files(1, tmp_path / "data")
    offered = plugins(register_backbones=[tiny_family("mine/words"), tiny_family("another/words")])
    monkeypatch.setattr(benchrunner.results, "discover", lambda: offered)
    monkeypatch.setenv("BENCHRUNNER_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BENCHRUNNER_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    text = inspect.cleandoc(benchrunner.__doc__ or "")
    code = textwrap.dedent("\n".join(line for line in text.splitlines() if line.startswith("    ") or not line))
    names: dict[str, Any] = {}
    exec(code, names)
    assert len(names["answers"]) == ROWS["test"]
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["mine/words", "another/words"]
