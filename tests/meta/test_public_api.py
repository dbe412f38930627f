"""The public names: complete, used by the plugins, and described truly by the package itself."""

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import benchrunner
import benchrunner.engine
import benchrunner.results
import benchrunner_kit.testing
import benchrunner_submit
from benchrunner.errors import BenchrunnerError
from benchrunner_kit.testing import tiny_family
from distributions import modules_of
from inline import ROWS, files, plugins

PACKAGE = Path(benchrunner.__file__).parent
MOST_NAMES = {
    benchrunner: 90,
    benchrunner.engine: 50,
    benchrunner.results: 50,
    benchrunner_kit.testing: 50,
    benchrunner_submit: 30,
}
"""Each module of names -> how many it may have, so that a person can read its page in five minutes."""
ROOT = Path(__file__).parents[2]
SHARED = ("benchrunner", "benchrunner_submit")
"""The packages that other distributions import."""


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


@pytest.mark.parametrize(
    "surface", [benchrunner, benchrunner.engine, benchrunner.results, benchrunner_submit], ids=lambda one: one.__name__
)
def test_a_stub_exports_what_it_imports(surface: ModuleType) -> None:
    """Type checkers take `import A as A` for a public name, and `import A` for a name of the stub alone."""
    stub = ast.parse(Path(str(surface.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    aliases = [alias for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert [alias.name for alias in aliases if alias.asname != alias.name] == []


def imported_names(path: Path) -> set[tuple[str, str]]:
    """The modules of the core and of the plugin submit that a file imports, each with the names it takes from them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    plain = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names = {(node.module or "", alias.name) for node in froms for alias in node.names}
    names |= {(name, "") for name in plain}
    return {(module, name) for module, name in names if module.split(".")[0] in SHARED}


def test_first_party_plugins_use_the_public_surface_only() -> None:
    public = {(surface.__name__, name) for surface in MOST_NAMES for name in surface.__all__}
    outside = {
        f"{path.relative_to(ROOT)}: {module} {name}"
        for folder in (*ROOT.glob("plugins/*/benchrunner_*"), *ROOT.glob("leaderboards/benchrunner_*"))
        for path in modules_of(folder)
        for module, name in imported_names(path) - public
        if module.split(".")[0] != folder.name
    }
    assert outside == set()


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
