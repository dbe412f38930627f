"""Names that users give: found by their last part, contested between plugins, or answered with known ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchrunner import Workspace
from benchrunner.engine import Backbone, BackboneFamily
from benchrunner.errors import CheckpointError, RequestError, UnknownName
from benchrunner.parameters.grids import GRIDS
from benchrunner.results import discover
from benchrunner.runs.planner import Planner
from benchrunner_kit.testing import TinyBackbone, tiny_family
from inline import board, files, mood, own, own_and, pairs, plugin

WORKSPACE = Workspace(Path("runs"), Path("cache"))


class Stumbling(BackboneFamily):
    """Fails on everything that it is asked for."""

    def listed(self) -> list[Backbone]:
        return []

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        raise KeyError(reference)


def test_two_plugins_may_not_offer_one_task() -> None:
    plugins = own_and(("rival", plugin(register_tasks=[mood(about="Another."), mood(name="rival/other")])))
    assert list(plugins.tasks) == ["rival/other"] and not plugins.set_aside
    remedy = "choose BENCHRUNNER_PLUGINS=no:own or BENCHRUNNER_PLUGINS=no:rival"
    contest = f"The task 'mine/mood' is offered by the plugins own and rival: {remedy}."
    assert plugins.contests == [contest]
    for asked in ("mine/mood", "mood", "mood@5"):
        with pytest.raises(RequestError, match=contest):
            plugins.tasks.find(asked)
    with pytest.raises(RequestError, match=contest):
        plugins.tasks_of(["mine"])


def test_fits_of_two_plugins_with_one_task_differ(tmp_path: Path) -> None:
    files(1, tmp_path / "data")
    fits = []
    for name in ("own", "rival"):
        plugins = discover(extra=[(name, plugin(register_tasks=[mood()]))], installed=False)
        planner = Planner(plugins, Workspace(tmp_path / "runs", tmp_path / "cache", data=tmp_path / "data"))
        fits.append(planner.plan(plugins.tasks.find("mood"), "", method="majority"))
    assert fits[0].id != fits[1].id and fits[0].task == fits[1].task


def test_a_rival_that_is_set_aside_leaves_the_name_to_the_other() -> None:
    def rival() -> Iterator[object]:
        yield mood(about="Another.")
        raise ValueError("after all not")

    plugins = own_and(("rival", plugin(register_tasks=rival)))
    assert plugins.tasks.find("mine/mood").about == "Is the text glad or sad?"
    assert [one.plugin for one in plugins.set_aside] == ["rival"]


def test_two_plugins_may_not_offer_one_board_or_one_backbone() -> None:
    plugins = own_and(("rival", plugin(register_leaderboards=[board()], register_backbones=[tiny_family()])))
    with pytest.raises(RequestError, match="leaderboard 'moods' is offered by the plugins own and rival"):
        plugins.leaderboards.find("moods")
    for asked in ("tiny/words", "words"):
        with pytest.raises(RequestError, match="own and rival: choose own:tiny/words or rival:tiny/words"):
            plugins.backbone_search.find(asked, WORKSPACE)
    _, family = plugins.backbone_search.find("rival:words", WORKSPACE)
    assert plugins.supplier(family).name == "rival"


def test_an_unambiguous_last_part_is_enough_to_name_a_task() -> None:
    plugins = own_and(("other", plugin(register_tasks=[mood(name="other/mood"), pairs()])))
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
        getattr(own_and(), f"{kind}s").find(asked)


def test_an_unknown_backbone_is_answered_with_known_ones(tmp_path: Path) -> None:
    plugins = own_and()
    with pytest.raises(UnknownName, match=r"no backbone 'tiny/wrods'. Did you mean tiny/words\? A folder, a hub id"):
        plugins.backbone_search.find("tiny/wrods", WORKSPACE)
    with pytest.raises(CheckpointError, match=r"a folder with config.json and weights is expected"):
        plugins.backbone_search.find(str(tmp_path), WORKSPACE)
    assert plugins.backbone_search.find("words", WORKSPACE)[0].name == "tiny/words"


def test_a_grid_is_found_by_its_name() -> None:
    plugins = own_and()
    assert {name: plugins.grid(name) for name in GRIDS} == GRIDS
    with pytest.raises(UnknownName, match=r"There is no grid 'papr'. Did you mean paper"):
        plugins.grid("papr")


def test_an_empty_name_is_not_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TinyBackbone().load(WORKSPACE, seed=0).save(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert own_and().backbone_search.find(".", WORKSPACE)[0].name == "."
    with pytest.raises(UnknownName, match="There is no backbone ''"):
        own_and().backbone_search.find("", WORKSPACE)


def test_a_failing_family_does_not_hide_one_that_knows_the_name(tmp_path: Path) -> None:
    before = ("a stumbler", plugin(register_backbones=[Stumbling()]))
    plugins = discover(extra=[before, ("own", own())], installed=False)
    TinyBackbone().load(WORKSPACE, seed=0).save(tmp_path)
    assert plugins.backbone_search.find(str(tmp_path), WORKSPACE)[0].name == str(tmp_path)
    with pytest.raises(CheckpointError, match=r"'a stumbler' failed on tiny/word: .* Did you mean tiny/words\?"):
        plugins.backbone_search.find("tiny/word", WORKSPACE)
