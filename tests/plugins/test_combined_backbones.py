"""A plugin's family may combine backbones of any families: `PREFIX:A,B` is one backbone."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchrunner import CheckpointError, RequestError, Workspace
from benchrunner.engine import Backbone, BackboneFamily
from benchrunner.results import Plugins, Runner, discover
from benchrunner_kit.testing import TinyBackbone, tiny_family
from inline import own, plugin


@dataclass(frozen=True)
class Pair(Backbone):
    """The first of two backbones, which says that it is both."""

    name: str
    parts: Sequence[Backbone]
    about: str = "a pair"

    def revision(self, workspace: Workspace) -> str:
        return " and ".join(part.revision(workspace) for part in self.parts)

    def load(self, workspace: Workspace, *, seed: int):  # type: ignore[no-untyped-def]
        if any(part.name.startswith("odd") for part in self.parts):
            raise CheckpointError("these two do not fit together")
        return self.parts[0].load(workspace, seed=seed)


@dataclass(frozen=True)
class PairFamily(BackboneFamily):
    parts: tuple[BackboneFamily, ...] = ()
    prefix = "pair"

    def listed(self) -> list[Backbone]:
        return []

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        return TinyBackbone(reference, folder=Path(reference)) if self.parts else None

    def combined(self, name: str, backbones: Sequence[Backbone]) -> Backbone:
        return Pair(name, tuple(backbones))

    def with_parts(self, families: Sequence[BackboneFamily]) -> BackboneFamily:
        return PairFamily(tuple(families))


@pytest.fixture
def plugins() -> Plugins:
    others = plugin(register_backbones=[tiny_family("other/words"), tiny_family("odd/letters"), PairFamily()])
    found = discover(extra=[("own", own()), ("others", others)], installed=False)
    assert not found.set_aside
    return found


@pytest.fixture
def runner(plugins: Plugins, tmp_path: Path) -> Runner:
    return Runner(plugins, Workspace(tmp_path / "runs", tmp_path / "cache"))


def test_a_combination_has_parts_of_any_families(runner: Runner, plugins: Plugins) -> None:
    backbone = runner.planner.backbone("pair: tiny/words , other/words")
    assert backbone.revision(runner.workspace) == "tiny 1 and tiny 1"
    assert [part.name for part in backbone.parts] == ["tiny/words", "other/words"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("pair:", "'pair:' does not name two .* combination. Separate their names by commas: pair:A,B"),
        ("pair:one", "'pair:one' does not name two or more backbones"),
        ("pair:one,", "does not name two or more backbones"),
        ("pair:one,pair:two,three", "two or more backbones, none of them a combination."),
        ("pair:tiny/words,wrods", "There is no backbone 'wrods'. Did you mean .*words"),
        ("both:a,b", "There is no backbone 'both:a,b'.* run:ID or pair:A,B is understood"),
    ],
)
def test_a_name_that_is_no_combination_is_refused(reference: str, reason: str, runner: Runner) -> None:
    with pytest.raises(RequestError, match=reason):
        runner.planner.backbone(reference)


def test_parts_that_do_not_fit_are_refused_when_planning(runner: Runner, plugins: Plugins) -> None:
    with pytest.raises(CheckpointError, match="these two do not fit together"):
        runner.planner.plan(plugins.tasks.find("mood"), "pair:tiny/words,odd/letters")


def test_a_combination_that_was_checked_is_not_loaded_again(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(Pair, "load", lambda pair, workspace, seed: loaded.append(pair.name))
    for _ in range(2):
        runner.planner.backbone("pair:tiny/words,other/words")
    assert loaded == ["pair:tiny/words,other/words"]
