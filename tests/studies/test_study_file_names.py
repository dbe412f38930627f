"""Study files in the packages of plugins: their names, and how users choose them."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from benchrunner.command_line.main import main
from benchrunner.errors import RequestError, UnknownName
from benchrunner.plugins.hookspecs import hookimpl
from benchrunner.results import discover
from benchrunner.studies.planning import study_file
from inline import mood, own
from study_texts import HEAD

Package = Callable[[str], ModuleType]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """A plugin that is a package with a folder `studies`."""

    def made(name: str) -> ModuleType:
        folder = tmp_path / name
        (folder / "studies").mkdir(parents=True)
        module = ModuleType(name)
        module.__package__, module.__path__ = name, [str(folder)]
        module.register_tasks = hookimpl(lambda: [mood(name=f"{name}/mood")])  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return made


def test_study_files_in_a_plugin_package_are_named_after_it(
    package: Package, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    modules = [(name, package(name)) for name in ("here", "there")]
    for name in ("here/studies/wide", "here/studies/deep", "there/studies/deep"):
        (tmp_path / f"{name}.toml").write_text(HEAD)
    (tmp_path / "there" / "studies" / "broken.toml").write_text("title = 3")
    plugins = discover(extra=[*modules, ("own", own())], installed=False)
    assert list(plugins.studies) == ["here/deep", "here/wide", "there/broken", "there/deep"]
    assert study_file("wide", plugins) == ("here/wide", tmp_path / "here" / "studies" / "wide.toml")
    assert study_file("some/where.toml", plugins) == ("some/where.toml", Path("some/where.toml"))
    with pytest.raises(RequestError, match="'deep' could be here/deep or there/deep: say which"):
        study_file("deep", plugins)
    with pytest.raises(UnknownName, match=r"no study 'wid'. Did you mean here/wide\? The path of a .toml file"):
        study_file("wid", plugins)
    assert main(["list", "studies"], plugins=plugins) == 0
    out = capsys.readouterr().out
    assert "  here/wide     Which is better?\n" in out and "there/broken  cannot be used: " in out
