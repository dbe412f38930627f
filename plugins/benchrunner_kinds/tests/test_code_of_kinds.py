"""The code of these problems is part of the identity of their fits, and of no others."""

import importlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import benchrunner_bert
import benchrunner_glue
import benchrunner_kinds
import benchrunner_methods
import benchrunner_squad
import benchrunner_transformers
from benchrunner.plugins.distributions import source_hash
from benchrunner.results import discover
from benchrunner.runs.planner import Planner
from benchrunner.workspace import Workspace

TASKS = ("squad/2.0", "glue/rte")


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A copy of the package that a test may edit."""
    folder = shutil.copytree(Path(str(benchrunner_kinds.__file__)).parent, tmp_path / "copy" / "benchrunner_kinds")
    monkeypatch.syspath_prepend(folder.parent)
    modules = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("benchrunner_kinds")}
    yield importlib.import_module("benchrunner_kinds")
    for name in [name for name in sys.modules if name.startswith("benchrunner_kinds")]:
        del sys.modules[name]
    sys.modules.update(modules)


def fit_ids(workspace: Workspace, kinds: ModuleType) -> dict[str, str]:
    """Plan a fit of a task of spans and a fit of a task of labels: the id of each."""
    extra = [("glue", benchrunner_glue), ("kinds", kinds), ("squad", benchrunner_squad)]
    plugins = discover(extra=extra, installed=False)
    planner = Planner(plugins, workspace)
    return {name: planner.plan(plugins.tasks.find(name), "", method="majority").id for name in TASKS}


def edit(kinds: ModuleType) -> None:
    with (Path(str(kinds.__file__)).parent / "spans" / "span.py").open("a") as file:
        file.write("LONGEST = 3\n")


def test_an_edit_changes_the_fits_of_these_problems_alone(tmp_path: Path, copy: ModuleType) -> None:
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", data=tmp_path / "data")
    plugins = discover(extra=[("glue", benchrunner_glue), ("squad", benchrunner_squad)], installed=False)
    for name in TASKS:
        task = plugins.tasks.find(name)
        assert task.demo_files is not None
        task.demo_files(tmp_path / "data")
    before = fit_ids(workspace, copy)
    assert fit_ids(workspace, copy) == before
    edit(copy)
    after = fit_ids(workspace, copy)
    assert after["squad/2.0"] != before["squad/2.0"] and after["glue/rte"] == before["glue/rte"]


def test_backbones_methods_and_tasks_of_labels_depend_on_none(copy: ModuleType) -> None:
    others = (benchrunner_bert, benchrunner_glue, benchrunner_methods, benchrunner_transformers)
    before = [source_hash(plugin) for plugin in (*others, benchrunner_squad)]
    edit(copy)
    assert [source_hash(plugin) for plugin in others] == before[:-1]
    assert source_hash(benchrunner_squad) != before[-1], "it imports the package"
