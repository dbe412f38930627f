"""Discovery: whatever a plugin does, the others work and somebody can find out why it does not."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from benchrunner import Workspace, hookimpl
from benchrunner.command_line.main import main
from benchrunner.engine import Backbone, BackboneFamily, Method
from benchrunner.errors import BenchrunnerError, PluginError
from benchrunner.results import discover
from benchrunner_kit.testing import TinyBackbone, tiny_family
from inline import mood, own, own_and, plugin


def raising(error: BaseException) -> Any:
    def hook() -> Iterator[object]:
        yield mood(name="late/mood")
        raise error

    return hook


class Wordless(Method):
    """No name."""

    def fit(self, job: Any) -> Any: ...

    def predict(self, job: Any, table: Any) -> Any: ...


class Sulking(BackboneFamily):
    """Cannot say what it has."""

    def listed(self) -> list[Backbone]:
        raise RuntimeError("no mood to")

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        return None


BROKEN = {
    "raises": (plugin(register_tasks=raising(ValueError("three\nlines\nlong"))), "ValueError: three lines long"),
    "exits": (plugin(register_tasks=raising(SystemExit(3))), "SystemExit: 3"),
    "misspelled": (plugin(register_task=[]), "no hook 'register_task'. Did you mean register_tasks"),
    "wrong argument": (plugin(after_fit=lambda fut: None), "fut"),
    "wrong value": (plugin(register_tasks=["glad"]), "register_tasks: the hook gave 'glad', which is not a Task"),
    "no list": (plugin(register_tasks=mood), "yield values, or return a list of them"),
    "family of the wrong kind": (plugin(register_backbones=[TinyBackbone()]), "which is not a BackboneFamily"),
    "no name": (plugin(register_methods=[Wordless()]), "needs a short name"),
    "empty name": (plugin(register_backbones=[tiny_family("")]), "needs a short name"),
    "cannot list": (plugin(register_backbones=[Sulking()]), "RuntimeError: no mood to"),
    "no hooks": (SimpleNamespace(register_tasks=lambda: []), "is '@hookimpl' missing"),
    "one name twice": (plugin(register_tasks=[mood(name="a/b"), mood(name="a/b")]), "two tasks have the name 'a/b'"),
    "a name of the core's": (
        plugin(register_methods=lambda: [discover(installed=False).methods["majority"]]),
        "benchrunner has a method 'majority' itself",
    ),
}


def test_a_plugin_may_have_classes_and_no_hooks() -> None:
    plugins = own_and(("values", SimpleNamespace(KAPPA=1, kappa=lambda gold, answers: 1)))
    assert not plugins.set_aside and "values" in [one.name for one in plugins.loaded]


def test_one_module_may_not_be_two_plugins() -> None:
    module = plugin(register_tasks=[mood()])
    plugins = discover(extra=[("first", module), ("second", module)], installed=False)
    assert [(part.plugin, "already registered" in part.reason) for part in plugins.set_aside] == [("second", True)]
    assert list(plugins.tasks) == ["mine/mood"]


def test_no_hook_of_a_plugin_that_is_set_aside_is_called() -> None:
    plugins = own_and(("half", plugin(register_tasks=[mood(name="half/mood")], register_task=[])))
    assert "half/mood" not in plugins.tasks and "half" in [part.plugin for part in plugins.set_aside]


READERS = {
    "raises": (lambda kind, name, plugins: 1 / 0, "The plugin 'reader' failed: ZeroDivisionError"),
    "wrong value": (lambda kind, name, plugins: "glad", "the hook gave 'glad', which is not a Task"),
}


@pytest.mark.parametrize("name", READERS)
def test_a_broken_reader_is_named(name: str) -> None:
    function, reason = READERS[name]
    plugins = own_and(("reader", plugin(read_value=function)))
    with pytest.raises(BenchrunnerError, match=reason):
        plugins.tasks.find("nobody/offers-it")
    assert plugins.tasks.find("mood").name == "mine/mood"  # what is offered is not read


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_hook_offers_nothing_and_the_others_work(name: str) -> None:
    module, reason = BROKEN[name]
    plugins = own_and(("broken", module), ("third", plugin(register_tasks=[mood(name="third/mood")])))
    (aside,) = plugins.set_aside
    assert aside.plugin == "broken"
    assert reason in aside.reason and "\n" not in aside.reason
    assert [one.name for one in plugins.loaded if one.name != "broken"] == ["own", "third"]
    assert list(plugins.tasks) == ["mine/mood", "third/mood"]
    assert list(plugins.methods) == ["finetune", "majority"]
    assert list(plugins.backbones) == ["tiny/words"]


def test_an_error_given_as_a_value_takes_away_it_alone() -> None:
    fault = PluginError("boards/b.toml: there is no key 'colums'. Did you mean columns?")
    plugins = own_and(("third", plugin(register_tasks=[mood(name="third/mood"), fault, mood(name="third/glad")])))
    assert list(plugins.tasks) == ["mine/mood", "third/glad", "third/mood"]
    (aside,) = plugins.set_aside
    assert aside.reason == f"register_tasks: {fault}"


def test_hooks_are_called_when_their_kind_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[str] = []

    def tasks() -> list[object]:
        asked.append("tasks")
        return [mood(name="third/mood")]

    def boards() -> list[object]:
        raise ValueError("no boards")

    broken = plugin(register_tasks=tasks, register_leaderboards=boards)
    plugins = own_and(("third", broken))
    assert main(["list", "backbones"], plugins=plugins) == 0 and asked == []
    assert list(plugins.tasks) == list(plugins.tasks) == ["mine/mood", "third/mood"] and asked == ["tasks"]
    assert main(["list", "tasks", "mine"], plugins=plugins) == 0
    assert "set aside" not in capsys.readouterr().err
    assert main(["list", "leaderboards"], plugins=plugins) == 0
    assert "plugin third is set aside: register_leaderboards: ValueError: no boards" in capsys.readouterr().err


def test_doctor_says_what_is_wrong_and_everything_else_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    plugins = own_and(("broken", BROKEN["raises"][0]))
    assert main(["doctor"], plugins=plugins) == 1
    assert "WRONG: plugin broken is set aside: register_tasks: ValueError: three lines long" in capsys.readouterr().out
    assert main(["doctor"], plugins=own_and()) == 0
    capsys.readouterr()
    assert main(["list", "tasks"], plugins=plugins) == 0
    said = capsys.readouterr()
    assert "mine (1)  mood" in said.out and "broken" not in said.out
    assert "plugin broken is set aside" in said.err


def test_an_entry_point_that_cannot_be_imported_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {"absent": "no_such_k", "leaving": "leaving_k", "typo": "typo_k", "well": "well_k:own"}
    points = [*modules.items(), ("well", "well_k:rival")]
    (tmp_path / "leaving_k.py").write_text("raise SystemExit('I go')")
    (tmp_path / "typo_k.py").write_text("raise SyntaxError('invalid syntax')")
    well_k = ModuleType("well_k")
    monkeypatch.setitem(sys.modules, "well_k", well_k)
    well_k.own, well_k.rival = own(), plugin(register_tasks=[mood(name="a/b")])  # type: ignore[attr-defined]
    for number, (name, value) in enumerate(points):
        folder = tmp_path / f"{name}_distribution{number}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: {name}-distribution\nVersion: 1.0\n\nName: of the text\n")
        (folder / "entry_points.txt").write_text(f"[console_scripts]\nx = y:z\n\n[benchrunner]\n{name} = {value}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("BENCHRUNNER_PLUGINS", "absent,leaving,typo,well")
    plugins = discover()
    assert [(one.name, one.distribution) for one in plugins.loaded] == [("well", "well-distribution")]
    reasons = {one.plugin: re.sub(r" \(\S+:\d+\)$", "", one.reason) for one in plugins.set_aside}
    assert reasons == {
        "absent": "ModuleNotFoundError: No module named 'no_such_k'",
        "leaving": "SystemExit: I go",
        "typo": "SyntaxError: invalid syntax",
        "well": "well-distribution has a plugin of that name; that of well-distribution is not used",
    }
    assert list(plugins.tasks) == ["mine/mood"], "the first plugin of that name must stay whole"
    assert plugins.tasks.find("mood").name == "mine/mood"


def test_a_broken_command_is_set_aside_and_the_others_work(capsys: pytest.CaptureFixture[str]) -> None:
    def half(cli: Any) -> None:
        cli.add_parser("half", help="only half of it").set_defaults(run=print)
        raise RuntimeError("lost the thread")

    def silent(cli: Any) -> None:
        cli.add_parser("silent")

    def thief(cli: Any) -> None:
        cli.add_parser("list").set_defaults(run=print)

    def good(cli: Any) -> None:
        cli.add_parser("good", help="all of it").set_defaults(run=lambda arguments: 7)

    commands = {"half": half, "silent": silent, "thief": thief, "good": good}
    plugins = own_and(*((name, plugin(register_commands=hook)) for name, hook in commands.items()))
    assert main(["good"], plugins=plugins) == 7
    said = capsys.readouterr().err
    assert "plugin half is set aside: register_commands: RuntimeError: lost the thread" in said
    assert "plugin silent is set aside: register_commands: the command 'silent' has no" in said
    assert "plugin thief is set aside" in said
    for gone in ("half", "silent"):
        with pytest.raises(SystemExit) as stopped:
            main([gone], plugins=plugins)
        assert stopped.value.code == 2
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["--help"], plugins=plugins)
    shown = capsys.readouterr().out
    assert "only half" not in shown and "all of it" in shown
    assert main(["doctor"], plugins=plugins) == 1


def test_a_plugin_is_anything_with_hooks() -> None:
    class Carrier:
        @hookimpl
        def register_tasks(self) -> list[object]:
            return [mood()]

    plugins = discover(extra=[("carrier", Carrier())], installed=False)
    assert plugins.supplier(plugins.tasks.find("mine/mood")).name == "carrier"
    assert plugins.supplier(plugins.methods.find("finetune")) == plugins.core
