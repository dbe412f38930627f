"""The checks for plugin authors find what they are for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchrunner import ACCURACY, BackboneFamily, Metric, OneBackbone, Workspace
from benchrunner.errors import PluginError
from benchrunner.testing import TinyBackbone, check_backbone, check_task, sentences, tiny_family
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


def wandering(seed: int, folder: Path) -> None:
    files(random.randrange(10**9), folder)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a metric that is never right": ({"metrics": (Metric("odd", never_right),)}, "odd of the right answers is not"),
    "files that differ from call to call": ({"demo_files": wandering}, "different files for the same seed"),
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
