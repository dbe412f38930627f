"""Suppliers of tasks, and their versions, which are part of the identity of fits."""

import importlib
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

from benchrunner import Metric, Split, TextTable, Workspace, hookimpl
from benchrunner.plugins import suppliers
from benchrunner.plugins.discovery import discover
from benchrunner.plugins.distributions import Plugin, installed_version, source_hash
from benchrunner.runs.planner import Planner
from inline import mood, plugin


def test_a_checkout_on_the_path_does_not_change_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `.egg-info` is found before the installed distribution, which alone says that a folder was installed."""
    checkout, installed = tmp_path / "checkout", tmp_path / "site"
    for folder in (checkout / "twice.egg-info", installed / "twice-1.0.dist-info"):
        folder.mkdir(parents=True)
        name = "PKG-INFO" if folder.suffix == ".egg-info" else "METADATA"
        (folder / name).write_text("Metadata-Version: 2.1\nName: twice\nVersion: 1.0\n")
    (installed / "twice-1.0.dist-info" / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {}}')
    monkeypatch.syspath_prepend(installed)
    alone = installed_version("twice", pytest)
    monkeypatch.syspath_prepend(checkout)
    assert alone == installed_version("twice", pytest)
    assert alone.startswith("1.0+source.")


def module_of(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, **files: str) -> ModuleType:
    """Write Python files to a folder on the path, and import one of them."""
    for stem, text in files.items():
        path = folder / f"{stem}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(folder)
    module = importlib.import_module(name)
    tops = {stem.split("/")[0] for stem in files}
    for known in list(sys.modules):
        if known.split(".")[0] in tops:
            monkeypatch.setitem(sys.modules, known, sys.modules.pop(known))
    return module


@pytest.mark.parametrize(
    "text",
    ["from helper_k import row", "import os, helper_k as h", "def f():\n    import helper_k", "if 1: import helper_k"],
)
def test_a_helper_beside_a_module_is_part_of_its_version(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = module_of(tmp_path, "single_k", monkeypatch, single_k=text, helper_k="import deep_k\nrow = 1", deep_k="")
    before = source_hash(plugin)
    (tmp_path / "beside.py").write_text("nobody imports this")
    assert source_hash(plugin) == before
    (tmp_path / "deep_k.py").write_text("changed = 1\n")
    changed = source_hash(plugin)
    (tmp_path / "helper_k.py").write_text("row = 2\n")
    assert len({before, changed, source_hash(plugin)}) == 3


def test_a_data_file_of_a_package_is_part_of_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = module_of(tmp_path, "data_k", monkeypatch, **{"data_k/__init__": ""})
    versions = {source_hash(plugin)}
    for name in ("data_k/labels.txt", "data_k/more/table.json", "data_k/native.so"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
        versions.add(source_hash(plugin))
    assert len(versions) == 4
    for name in ("data_k/.labels.swp", "data_k/__pycache__/x.pyc", "data_k/studies/mine.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    assert source_hash(plugin) in versions, "a fit does not depend on these"


def test_tests_and_a_read_me_are_no_part_of_a_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = module_of(tmp_path, "tested_k", monkeypatch, **{"tested_k/__init__": "", "tested_k/model/__init__": ""})
    before = source_hash(plugin)
    for name in ("tested_k/tests/test_it.py", "tested_k/README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    assert source_hash(plugin) == before
    (tmp_path / "tested_k/model/README.md").write_text("1")
    assert source_hash(plugin) != before


@pytest.mark.parametrize(
    ("code", "text", "name"),
    [
        ("single_k", "x = __file__.replace('single_k.py', 'weights.json')", "weights.json"),
        ("single_k", "Path(__file__).with_suffix('.json')", "single_k.json"),
        ("single_k", "Path(__file__).parent / 'words_k' / 'few.txt'", "words_k/few.txt"),
        ("whole_k/__init__", "x = '.hidden'", "whole_k/.hidden"),
        ("whole_k/deep/inner", 'x = "../../above.json"', "above.json"),
    ],
)
def test_a_file_that_the_code_names_is_part_of_its_version(
    code: str, text: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "words_k").mkdir()
    files = {"single_k": "", "whole_k/__init__": "", code: f"from pathlib import Path\n{text}"}
    plugin = module_of(tmp_path, code.split("/")[0], monkeypatch, **files)
    versions = {source_hash(plugin)}
    for content in ("1.0", "0.5"):
        (tmp_path / name).write_text(content)
        (tmp_path / "another.json").write_text(content)
        versions.add(source_hash(plugin))
    assert len(versions) == 3
    (tmp_path / "another.json").write_text("nobody names this")
    assert source_hash(plugin) in versions


def test_a_file_edited_in_an_installed_wheel_makes_a_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site-packages"
    plugin = module_of(site, "wheel_k", monkeypatch, wheel_k="half = 1.0")
    (site / "wheel_k-1.0.dist-info").mkdir()
    (site / "wheel_k-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: wheel_k\nVersion: 1.0\n")
    (site / "wheel_k-1.0.dist-info" / "RECORD").write_text("wheel_k.py,,\n")
    before = installed_version("wheel_k", plugin)
    (site / "wheel_k.py").write_text("half = 0.5")
    assert installed_version("wheel_k", plugin) != before


def test_modules_of_one_local_installation_have_one_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site-packages"
    files = {"one_k": "import two_k, foreign_k", "two_k": "", "foreign_k": ""}
    plugin = module_of(site, "one_k", monkeypatch, **files)
    info = site / "one_k-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: one_k\nVersion: 1.0\n")
    (info / "RECORD").write_text("one_k.py,,\ntwo_k.py,,\n")
    (info / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {}}')
    before = installed_version("one_k", plugin)
    (site / "foreign_k.py").write_text("changed = 1\n")
    assert installed_version("one_k", plugin) == before, "this module has a version of its own"
    (site / "two_k.py").write_text("changed = 1\n")
    assert installed_version("one_k", plugin) != before


@pytest.mark.parametrize(("origin", "is_part"), [("", False), ('{"url": "file:///x", "dir_info": {}}', True)])
def test_libraries_in_a_folder_of_any_name_have_versions(
    origin: str, is_part: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"user_k": "import large_k", "large_k/__init__": ""}
    plugin = module_of(tmp_path / "any", "user_k", monkeypatch, **files)
    info = tmp_path / "any" / f"large_k-{len(origin)}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: large_k\nVersion: 1.0\n")
    (info / "RECORD").write_text("large_k/__init__.py,,\n")
    if origin:
        (info / "direct_url.json").write_text(origin)
    before = source_hash(plugin)
    (tmp_path / "any" / "large_k" / "__init__.py").write_text("changed = 1\n")
    assert (source_hash(plugin) != before) == is_part


LIBRARY = "import deeper_k\ndef hits(gold, predicted): return deeper_k.one()\nclass Base: pass\n"
PLUGIN = """
import functools
import library_k
from benchrunner import Metric, TextTable
def metric(use): return Metric("hits", use)
def calls(gold, predicted): return library_k.hits(gold, predicted)
class Source(TextTable, library_k.Base): pass
"""


@pytest.mark.parametrize("use", ["library_k.hits", "functools.partial(library_k.hits)", "calls", "Source"])
def test_a_library_of_a_metric_or_source_is_a_supplier(
    use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site-packages"
    files = {"plugin_k": PLUGIN, "library_k": LIBRARY, "deeper_k": "def one(): ..."}
    plugin = module_of(site, "plugin_k", monkeypatch, **files)
    monkeypatch.setitem(sys.modules, "plugin_k", plugin)
    monkeypatch.setattr(suppliers, "_distributions_of_packages", metadata.packages_distributions)  # not what is known
    for name in ("library", "deeper"):  # what the library needs is the library's affair
        info = site / f"a_{name}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: a-{name}\nVersion: 1.5\n")
        (info / "RECORD").write_text(f"{name}_k.py,,\n")
    value = eval(use, vars(plugin))
    task = mood()
    if use == "Source":
        source = value("mood/train.tsv", {"a": "text", "label": "mood"})
        task = mood(splits={"train": Split("train", (source,))})
    else:
        task = mood(metrics=(plugin.metric(value),))
    plugin.register_tasks = hookimpl(lambda: [task])  # type: ignore[attr-defined]
    plugins = discover(extra=[("plugin", plugin)], installed=False)
    versions = {supplier.title: supplier.version for supplier in plugins.suppliers_of(plugins.tasks.find("mood"))}
    assert versions.pop("plugin (plugin)").startswith("0+source.")
    assert versions == {"library_k (a-library)": "1.5"}
    planner = Planner(plugins, Workspace(tmp_path / "runs", tmp_path / "cache"))
    fitted_with = planner.suppliers(plugins.tasks.find("mood"), plugins.methods.find("majority"), None)
    assert fitted_with["library_k (a-library)"] == "1.5", "another version makes another fit"


def test_a_library_is_looked_up_once_for_all_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, hits = list[str](), Metric("hits", lambda gold, predicted: 1.0)
    suppliers.library.cache_clear()
    monkeypatch.setattr(
        suppliers, "_distributions_of_packages", lambda: dict.fromkeys(["test_versions"], asked.append("") or ())
    )
    plugins = discover(extra=[("own", plugin(register_tasks=[mood(metrics=(hits,))]))], installed=False)
    task = plugins.tasks.find("mood")
    assert plugins.suppliers_of(task) == plugins.suppliers_of(task)
    assert asked and len(asked) == len(set(asked)), "to look one up is to read what every distribution says of itself"


def test_an_edited_source_is_another_version_of_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hashed(name: str) -> str:
        module = ModuleType(name)
        module.__file__ = str(tmp_path / "brought" / f"{name.rpartition('.')[2]}.py")
        return source_hash(module)

    (tmp_path / "brought").mkdir()
    (tmp_path / "brought" / "__init__.py").write_text("")
    (tmp_path / "brought" / "plugin.py").write_text("a = 1\n")
    (tmp_path / "brought" / "model.py").write_text("b = 1\n")
    package = ModuleType("brought")
    package.__file__, package.__path__ = str(tmp_path / "brought" / "__init__.py"), [str(tmp_path / "brought")]
    monkeypatch.setitem(sys.modules, "brought", package)
    before = hashed("brought.plugin")
    assert hashed("brought.plugin") == before
    (tmp_path / "brought" / "model.py").write_text("b = 2\n")
    assert hashed("brought.plugin") != before, "a module beside the plugin's own is part of it"


def test_a_task_with_parts_of_two_plugins_has_both_as_suppliers() -> None:
    lender, borrower = ModuleType("lender"), ModuleType("borrower")

    class Borrowed(TextTable):
        """Of the lender's package."""

    Borrowed.__module__ = "lender.sources"
    splits = {"train": Split("train", (Borrowed("a.tsv", {"a": "a", "label": "label"}),))}
    task = replace(mood(), name="borrower/mood", splits=splits)
    lender.register_tasks = hookimpl(lambda: [replace(mood(), name="lender/mood")])  # type: ignore[attr-defined]
    borrower.register_tasks = hookimpl(lambda: [task])  # type: ignore[attr-defined]
    found = discover(extra=[("lender", lender), ("borrower", borrower)], installed=False)
    assert not found.set_aside
    assert [one.name for one in found.suppliers_of(found.tasks.find("borrower/mood"))] == ["borrower", "lender"]
    assert [one.name for one in found.suppliers_of(found.tasks.find("lender/mood"))] == ["lender"]


LENDER = "from benchrunner import TextTable\nclass Table(TextTable): pass\n"
BORROWER = """
import inline
from benchrunner import ACCURACY, Split, hookimpl
from lender_k import Table
@hookimpl
def register_tasks():
    train = Split("train", (Table("mood.tsv", {"a": "a", "label": "label"}),))
    yield inline.mood(metrics=(ACCURACY,), splits={"train": train})
"""


def test_a_plugin_left_out_counts_where_its_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"borrower_k": BORROWER, "lender_k/__init__": LENDER}
    module_of(tmp_path, "borrower_k", monkeypatch, **files)
    (tmp_path / "lender_k" / "studies").mkdir()
    (tmp_path / "lender_k" / "studies" / "small.toml").write_text("")
    for name in ("borrower", "lender"):
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[benchrunner]\n{name} = {name}_k\n")
    versions = []
    for chosen, studies in (("borrower,lender", ["lender/small"]), ("borrower", [])):
        monkeypatch.setenv("BENCHRUNNER_PLUGINS", chosen)
        plugins = discover()
        suppliers = plugins.suppliers_of(plugins.tasks.find("mood"))
        versions.append({supplier.title: supplier.version for supplier in suppliers})
        assert list(plugins.studies) == studies
    assert list(versions[0]) == ["borrower (borrower)", "lender (lender)"]
    assert versions[0] == versions[1]


def test_a_release_alone_changes_no_identity() -> None:
    assert Plugin("glue", "benchrunner", lambda: "0.1.0+source.abc").code == "source.abc"
    assert Plugin("glue", "benchrunner", lambda: "0.2.0+source.abc").code == "source.abc"
    assert Plugin("far", "far", lambda: "1.0+source.abc").code == "1.0+source.abc"
