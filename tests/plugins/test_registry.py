"""Discovery: whatever a plugin does, the others work and somebody can find out why it does not."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from benchrunner import Split, TextTable, Workspace, hookimpl
from benchrunner.command_line.main import main
from benchrunner.engine import Backbone, BackboneFamily, Method
from benchrunner.errors import BenchrunnerError, CheckpointError, PluginError, RequestError, UnknownName
from benchrunner.parameters.grids import GRIDS
from benchrunner.plugins import distributions
from benchrunner.plugins.distributions import source_hash
from benchrunner.results import Plugins, discover
from benchrunner_kit.testing import TinyBackbone, tiny_family
from inline import board, mood, own, pairs, plugin

WORKSPACE = Workspace(Path("runs"), Path("cache"))


def found(*others: tuple[str, object]) -> Plugins:
    return discover(extra=[("own", own()), *others], installed=False)


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


class Stumbling(BackboneFamily):
    """Fails on everything that it is asked for."""

    def listed(self) -> list[Backbone]:
        return []

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        raise KeyError(reference)


BROKEN = {
    "raises": (plugin(register_tasks=raising(ValueError("three\nlines\nlong"))), "ValueError: three lines long"),
    "exits": (plugin(register_tasks=raising(SystemExit(3))), "SystemExit: 3"),
    "misspelled": (plugin(register_task=[]), "no hook 'register_task'. Did you mean register_tasks"),
    "wrong argument": (plugin(before_fit=lambda fut: None), "fut"),
    "wrong value": (plugin(register_tasks=["glad"]), "register_tasks: the hook gave 'glad', which is not a Task"),
    "no list": (plugin(register_tasks=mood), "yield values, or return a list of them"),
    "family of the wrong kind": (plugin(register_backbones=[TinyBackbone()]), "which is not a BackboneFamily"),
    "no name": (plugin(register_methods=[Wordless()]), "has no name"),
    "empty name": (plugin(register_backbones=[tiny_family("")]), "has no name"),
    "cannot list": (plugin(register_backbones=[Sulking()]), "RuntimeError: no mood to"),
    "no hooks": (SimpleNamespace(register_tasks=lambda: []), "is '@hookimpl' missing"),
    "one name twice": (plugin(register_tasks=[mood(name="a/b"), mood(name="a/b")]), "two tasks have the name 'a/b'"),
    "a name of the core's": (
        plugin(register_methods=lambda: [discover(installed=False).methods["majority"]]),
        "benchrunner has a method 'majority' itself",
    ),
}


def test_a_plugin_may_have_classes_and_no_hooks() -> None:
    plugins = found(("values", SimpleNamespace(KAPPA=1, kappa=lambda gold, answers: 1)))
    assert not plugins.set_aside and "values" in [one.name for one in plugins.loaded]


def test_one_module_may_not_be_two_plugins() -> None:
    module = plugin(register_tasks=[mood()])
    plugins = discover(extra=[("first", module), ("second", module)], installed=False)
    assert [(part.plugin, "already registered" in part.reason) for part in plugins.set_aside] == [("second", True)]
    assert list(plugins.tasks) == ["mine/mood"]


def test_no_hook_of_a_plugin_that_is_set_aside_is_called() -> None:
    plugins = found(("half", plugin(register_tasks=[mood(name="half/mood")], register_task=[])))
    assert "half/mood" not in plugins.tasks and "half" in [part.plugin for part in plugins.set_aside]


READERS = {
    "raises": (lambda kind, name, plugins: 1 / 0, "The plugin 'reader' failed: ZeroDivisionError"),
    "wrong value": (lambda kind, name, plugins: "glad", "the hook gave 'glad', which is not a Task"),
}


@pytest.mark.parametrize("name", READERS)
def test_a_broken_reader_is_named(name: str) -> None:
    function, reason = READERS[name]
    plugins = found(("reader", plugin(read_value=function)))
    with pytest.raises(BenchrunnerError, match=reason):
        plugins.tasks.find("nobody/offers-it")
    assert plugins.tasks.find("mood").name == "mine/mood"  # what is offered is not read


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_hook_offers_nothing_and_the_others_work(name: str) -> None:
    module, reason = BROKEN[name]
    plugins = found(("broken", module), ("third", plugin(register_tasks=[mood(name="third/mood")])))
    (aside,) = plugins.set_aside
    assert aside.plugin == "broken"
    assert reason in aside.reason and "\n" not in aside.reason
    assert [one.name for one in plugins.loaded if one.name != "broken"] == ["own", "third"]
    assert list(plugins.tasks) == ["mine/mood", "third/mood"]
    assert list(plugins.methods) == ["finetune", "majority"]
    assert list(plugins.backbones) == ["tiny/words"]


def test_an_error_given_as_a_value_takes_away_it_alone() -> None:
    fault = PluginError("boards/b.toml: there is no key 'colums'. Did you mean columns?")
    plugins = found(("third", plugin(register_tasks=[mood(name="third/mood"), fault, mood(name="third/glad")])))
    assert list(plugins.tasks) == ["mine/mood", "third/glad", "third/mood"]
    (aside,) = plugins.set_aside
    assert aside.reason == f"register_tasks: {fault}" and aside.is_explained


@pytest.mark.parametrize(("name", "is_explained"), [("raises", False), ("no name", True), ("misspelled", True)])
def test_what_a_sentence_explains_is_told_from_failing_code(name: str, is_explained: bool) -> None:
    (aside,) = found(("broken", BROKEN[name][0])).set_aside
    assert aside.is_explained == is_explained


def test_hooks_are_called_when_their_kind_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[str] = []

    def tasks() -> list[object]:
        asked.append("tasks")
        return [mood(name="third/mood")]

    def boards() -> list[object]:
        raise ValueError("no boards")

    broken = plugin(register_tasks=tasks, register_leaderboards=boards)
    plugins = found(("third", broken))
    assert main(["list", "backbones"], plugins=plugins) == 0 and asked == []
    assert list(plugins.tasks) == list(plugins.tasks) == ["mine/mood", "third/mood"] and asked == ["tasks"]
    assert main(["list", "tasks"], plugins=plugins) == 0
    assert "set aside" not in capsys.readouterr().err
    assert main(["list", "leaderboards"], plugins=plugins) == 0
    assert "plugin third is set aside: register_leaderboards: ValueError: no boards" in capsys.readouterr().err


def test_doctor_says_what_is_wrong_and_everything_else_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    plugins = found(("broken", BROKEN["raises"][0]))
    assert main(["doctor"], plugins=plugins) == 1
    assert "WRONG: plugin broken is set aside: register_tasks: ValueError: three lines long" in capsys.readouterr().out
    assert main(["doctor"], plugins=found()) == 0
    capsys.readouterr()
    assert main(["list", "tasks"], plugins=plugins) == 0
    said = capsys.readouterr()
    assert "mine/mood" in said.out and "broken" not in said.out
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
    monkeypatch.setattr(distributions, "search_path", lambda: [str(tmp_path)])
    plugins = discover()
    assert [(one.name, one.distribution) for one in plugins.loaded] == [("well", "well-distribution")]
    reasons = {one.plugin: re.sub(r" \(\S+:\d+\)$", "", one.reason) for one in plugins.set_aside}
    assert reasons == {
        "absent": "ModuleNotFoundError: No module named 'no_such_k'",
        "leaving": "SystemExit: I go",
        "typo": "SyntaxError: invalid syntax",
        "well": "well-distribution has a plugin of that name already, so that of well-distribution is not used",
    }
    assert list(plugins.tasks) == ["mine/mood"], "the first plugin of that name must stay whole"
    assert plugins.tasks.find("mood").name == "mine/mood"


def test_two_plugins_may_not_offer_one_task() -> None:
    plugins = found(("rival", plugin(register_tasks=[mood(about="Another."), mood(name="rival/other")])))
    assert list(plugins.tasks) == ["own:mine/mood", "rival/other", "rival:mine/mood"]
    owners = "The task 'mine/mood' is offered by the plugins own and rival"
    choices = f"{owners}: say which, own:mine/mood or rival:mine/mood"
    for asked in ("mine/mood", "mood"):
        with pytest.raises(RequestError, match=f"{choices}\\."):
            plugins.tasks.find(asked)
    with pytest.raises(RequestError, match=choices):
        plugins.tasks_of(["mine"])
    [contest] = plugins.set_aside
    assert contest.text == f"{choices}, or uninstall one of them"


def test_a_contested_task_is_named_with_its_plugin() -> None:
    rival = plugin(register_tasks=[mood(about="Another."), mood(name="rival/other")])
    plugins = found(("rival", rival))
    for asked in ("rival:mine/mood", "rival:mood"):
        task = plugins.tasks.find(asked)
        assert (task.name, task.about) == ("rival:mine/mood", "Another.")
        assert plugins.tasks.find(task.name) is task and plugins.supplier(task).name == "rival"
    assert plugins.tasks.find("own:mood").about == "Is the text glad or sad?"
    assert [task.name for task in plugins.tasks_of(["rival:mine", "own:mine"])] == ["rival:mine/mood", "own:mine/mood"]
    assert plugins.tasks.find("rival:other") is plugins.tasks.find("rival/other"), "no other plugin offers it"
    assert plugins.tasks.find("rival:rival/other").name == "rival/other"
    with pytest.raises(UnknownName, match=r"no task 'rival:modo'. Did you mean rival:mine/mood"):
        plugins.tasks.find("rival:modo")
    with pytest.raises(UnknownName, match="no task 'core:mine/mood'"):
        plugins.tasks.find("core:mine/mood")


def test_a_contested_board_takes_answers_to_a_chosen_task() -> None:
    plugins = found(("rival", plugin(register_tasks=[mood(about="Another.")], register_leaderboards=[board()])))
    chosen = plugins.leaderboards.find("rival:moods").with_tasks(["rival:mine/mood"])
    assert chosen.wanted == (("rival:mine/mood", "test"),)
    assert board().with_tasks(["mine/mood"]) == board()


def test_a_rival_that_is_set_aside_leaves_the_name_to_the_other() -> None:
    def rival() -> Iterator[object]:
        yield mood(about="Another.")
        raise ValueError("after all not")

    plugins = found(("rival", plugin(register_tasks=rival)))
    assert plugins.tasks.find("mine/mood").about == "Is the text glad or sad?"
    assert [one.plugin for one in plugins.set_aside] == ["rival"]


def test_two_plugins_may_not_offer_one_board_or_one_backbone() -> None:
    plugins = found(("rival", plugin(register_leaderboards=[board()], register_backbones=[tiny_family()])))
    with pytest.raises(RequestError, match="leaderboard 'moods' is offered by the plugins own and rival"):
        plugins.leaderboards.find("moods")
    for asked in ("tiny/words", "words"):
        with pytest.raises(RequestError, match="backbone 'tiny/words' is offered by the plugins own and rival"):
            plugins.backbone_search.find(asked, WORKSPACE)


def test_an_unambiguous_last_part_is_enough_to_name_a_task() -> None:
    plugins = found(("other", plugin(register_tasks=[mood(name="other/mood"), pairs()])))
    assert plugins.tasks.find("pairs").name == "mine/pairs"
    with pytest.raises(RequestError, match="'mood' could be mine/mood or other/mood: say which"):
        plugins.tasks.find("mood")
    assert [one.name for one in plugins.tasks_of(["other", "pairs", "mine", "other/mood"])] == [
        "other/mood",
        "mine/pairs",
        "mine/mood",
    ]


@pytest.mark.parametrize("kind", ["task", "method", "leaderboard", "executor"])
def test_an_unknown_name_is_answered_with_known_ones(kind: str) -> None:
    asked = {"task": "mine/moody", "method": "finetun", "leaderboard": "mood", "executor": "locall"}[kind]
    close = {"task": "mine/mood", "method": "finetune", "leaderboard": "moods", "executor": "local"}[kind]
    with pytest.raises(UnknownName, match=f"There is no {kind} '{asked}'. Did you mean {close}"):
        getattr(found(), f"{kind}s").find(asked)


def test_an_unknown_backbone_is_answered_with_known_ones(tmp_path: Path) -> None:
    plugins = found()
    with pytest.raises(UnknownName, match=r"no backbone 'tiny/wrods'. Did you mean tiny/words\? A folder, a hub id"):
        plugins.backbone_search.find("tiny/wrods", WORKSPACE)
    with pytest.raises(CheckpointError, match=r"a folder with config.json and weights is expected"):
        plugins.backbone_search.find(str(tmp_path), WORKSPACE)
    assert plugins.backbone_search.find("words", WORKSPACE)[0].name == "tiny/words"


def test_a_grid_is_found_by_its_name() -> None:
    plugins = found()
    assert {name: plugins.grid(name) for name in GRIDS} == GRIDS
    with pytest.raises(UnknownName, match=r"There is no grid 'papr'. Did you mean paper"):
        plugins.grid("papr")


def test_an_empty_name_is_not_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TinyBackbone().load(WORKSPACE, seed=0).save(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert found().backbone_search.find(".", WORKSPACE)[0].name == "."
    with pytest.raises(UnknownName, match="There is no backbone ''"):
        found().backbone_search.find("", WORKSPACE)


def test_a_failing_family_does_not_hide_one_that_knows_the_name(tmp_path: Path) -> None:
    before = ("a stumbler", plugin(register_backbones=[Stumbling()]))
    plugins = discover(extra=[before, ("own", own())], installed=False)
    TinyBackbone().load(WORKSPACE, seed=0).save(tmp_path)
    assert plugins.backbone_search.find(str(tmp_path), WORKSPACE)[0].name == str(tmp_path)
    with pytest.raises(CheckpointError, match=r"'a stumbler' failed on tiny/word: .* Did you mean tiny/words\?"):
        plugins.backbone_search.find("tiny/word", WORKSPACE)


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
    plugins = found(*((name, plugin(register_commands=hook)) for name, hook in commands.items()))
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


def test_a_plugin_is_anything_with_hooks() -> None:
    class Carrier:
        @hookimpl
        def register_tasks(self) -> list[object]:
            return [mood()]

    plugins = discover(extra=[("carrier", Carrier())], installed=False)
    assert plugins.supplier(plugins.tasks.find("mine/mood")).name == "carrier"
    assert plugins.supplier(plugins.methods.find("finetune")) == plugins.core


HEAVY = ("torch", "numpy", "pyarrow", "datasets", "transformers", "scipy", "rich")


def loaded_after(code: str) -> set[str]:
    ends = f"import sys; print('LOADED', *(one for one in {HEAVY!r} if one in sys.modules))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{ends}"], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("LOADED")[2].split())


def test_importing_benchrunner_loads_nothing_heavy() -> None:
    assert loaded_after("import benchrunner") == set()


def test_listing_what_there_is_loads_nothing_heavy() -> None:
    assert loaded_after("from benchrunner.command_line.main import main; main(['list'])") == set()


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
