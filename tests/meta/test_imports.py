"""Imports go one way between packages, never in a circle, and neither importing nor listing loads a heavy library."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from distributions import CORE, PLUGINS, modules_of
from import_graph import ENTRANCES, LONE_MODULES, ORDER, PACKAGES, cycles, graph, imports, modules, named_imports, rank

HEAVY = ("datasets", "numpy", "pandas", "pyarrow", "rich", "scipy", "sklearn", "tokenizers", "torch", "transformers")


def test_every_package_of_the_core_has_a_place_in_the_order() -> None:
    entrances = {name.rpartition(".")[2] for name in ENTRANCES}
    assert {file.parent.name for file in CORE.glob("*/__init__.py")} - entrances == set(PACKAGES)
    assert {*ENTRANCES, *(f"benchrunner.{name}" for name in LONE_MODULES)} <= modules(CORE).keys()


def test_imports_go_one_way_between_the_packages() -> None:
    wrong = [str(line) for line in imports(CORE) if rank(line.imported) > rank(line.importer)]
    assert wrong == [], f"the order is {', '.join(ORDER)}, then {', '.join(ENTRANCES)}"


@pytest.mark.parametrize("package", (CORE, *PLUGINS), ids=lambda package: package.name)
def test_no_modules_import_one_another(package: Path) -> None:
    """Imports below TYPE_CHECKING, inside functions and by `import_module` count: they would only hide a cycle."""
    assert cycles(graph(imports(package))) == []


def test_plugins_import_one_another_in_no_circle() -> None:
    """Also inside functions and for type checking."""
    names = {package.name for package in PLUGINS}
    edges = {}
    for package in PLUGINS:
        imported = set[str]()
        for file in modules_of(package):
            for _, module, _ in named_imports(ast.parse(file.read_text(encoding="utf-8"))):
                imported.add(module.partition(".")[0])
        edges[package.name] = (imported & names) - {package.name}
    assert cycles(edges) == [] and any(edges.values())


def test_packages_only_re_export() -> None:
    """The `__init__.py` files of the core's packages define nothing."""
    for file in CORE.glob("*/__init__.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        kinds = {type(node) for node in tree.body[1:]}
        assert kinds <= {ast.ImportFrom, ast.Assign}, file
        assert all(isinstance(node.targets[0], ast.Name) for node in tree.body if isinstance(node, ast.Assign)), file


def loaded_after(code: str, *words: str) -> set[str]:
    """Return the top-level packages that a process has loaded after some code."""
    code += "; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_loads_no_heavy_library() -> None:
    """Neither the core, nor the command line, nor any first-party plugin needs one to be imported."""
    names = ["benchrunner.command_line.main", *(package.name for package in PLUGINS)]
    code = "import importlib, json, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
    assert set(HEAVY) & loaded_after(code, *names) == set()


def test_listing_what_there_is_loads_no_heavy_library() -> None:
    code = "import json, sys; from benchrunner.command_line.main import main; main(['list'])"
    assert set(HEAVY) & loaded_after(code) == set()
