"""The checks for plugin authors find what they are for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchrunner import ACCURACY, Metric, PluginError, RowsFrom, Split, Workspace
from benchrunner.engine import BackboneFamily, OneBackbone
from benchrunner_kit.testing import TinyBackbone, check_backbone, check_task, sentences, tiny_family
from inline import files, mood


def test_a_good_task_passes(tmp_path: Path) -> None:
    check_task(mood(), tmp_path)


def test_a_task_without_demo_files_is_checked_on_workspace_data(tmp_path: Path) -> None:
    files(1, tmp_path)
    check_task(mood(demo_files=None), tmp_path, workspace=Workspace(tmp_path, tmp_path, data=tmp_path))
    with pytest.raises(PluginError, match="give a workspace with its data"):
        check_task(mood(demo_files=None), tmp_path)


def never_right(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    return 0.0


def places_of_gladness(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    return 1.0 + sum(place for place, label in enumerate(gold) if label == "glad")


def counted_mistakes(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    return 1.0 + sum(right != answer for right, answer in zip(gold, predicted, strict=True))


def wandering(seed: int, folder: Path) -> None:
    files(random.randrange(10**9), folder)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a metric that is never right": ({"metrics": (Metric("odd", never_right),)}, "odd of the right answers is not"),
    "files that differ from call to call": ({"demo_files": wandering}, "different files for the same seed"),
    "a metric that crashes on one row": (
        {"metrics": (Metric("odd", lambda gold, answers: 1 / (len(gold) - 1)),)},
        "to compute odd of a single row ends in ZeroDivisionError",
    ),
    "a metric of the order of rows": (
        {"metrics": (Metric("odd", places_of_gladness),)},
        "odd is .* for the rows, and .* in another order",
    ),
    "a metric that crashes": (
        {"metrics": (Metric("odd", lambda gold, answers: answers["glad"]),)},
        "to compute odd ends in TypeError",
    ),
    "a metric that prefers wrong answers": (
        {"metrics": (Metric("odd", counted_mistakes),)},
        "odd of wrong answers, .*, is above that of the right ones, 1: fits are selected by the highest",
    ),
    "a metric of figures that are not there": (
        {"metrics": (Metric("odd", lambda gold, odds: 1.0, computed_from="odds"),)},
        "odd is computed from odds, which extra_figures does not give",
    ),
    "a source that crashes": (
        {"splits": {"train": Split("train", (RowsFrom(lambda workspace: {}["a"]),))}},
        "split train: The source RowsFrom of mine/mood, split 'train', failed: KeyError: 'a'",
    ),
    "a dev split without labels": (
        {"splits": {"train": Split("train", (RowsFrom(lambda workspace: {"a": ["one", "two"]}),))}},
        "split train: .*label",
    ),
    "files of another layout": (
        {"demo_files": lambda seed, folder: (folder / "mood").mkdir(parents=True)},
        "split train: No data for mine/mood",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_task_that_breaks_its_contract_is_told_how(name: str, tmp_path: Path) -> None:
    change, reason = BAD[name]
    with pytest.raises(PluginError, match=f"(?s)mine/mood breaks its contract:\n  - .*{reason}"):
        check_task(mood(**change), tmp_path)


def check(backbone: TinyBackbone, folder: Path, family: BackboneFamily | None = None) -> None:
    check_backbone(backbone, family or tiny_family(), Workspace(folder, folder), folder / "saved")


def test_a_good_backbone_passes(tmp_path: Path) -> None:
    check(TinyBackbone(), tmp_path)


def test_a_family_that_cannot_read_its_own_folders_is_found_out(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="does not find the folder that its own encoder saved"):
        check(TinyBackbone(), tmp_path, OneBackbone(TinyBackbone(), lambda folder: None))


def test_sentences_are_the_same_for_the_same_seed() -> None:
    assert sentences(9) == sentences(9) != sentences(9, seed=1)
    assert ACCURACY.compute(sentences(9)["label"], sentences(9)["label"]) == 1
