"""bert/novels, the backbone that comes along: what it is, where it is from, and that it has learnt."""

from __future__ import annotations

from pathlib import Path

import transformers

from benchrunner import Workspace
from benchrunner.results import discover
from benchrunner.workspace import Settings
from benchrunner_bert.family import EMBEDDED
from benchrunner_kit.testing import check_backbone

(NOVELS,) = EMBEDDED


def test_it_is_small_and_a_backbone_like_any_other(tmp_path: Path) -> None:
    assert (NOVELS.place / "model.safetensors").stat().st_size < 8_000_000
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", settings=Settings(offline=True))
    backbone, family = discover().backbone_search.find("novels", workspace)
    assert backbone == NOVELS
    check_backbone(backbone, family, workspace, tmp_path / "saved")


def test_it_expects_what_a_reader_expects() -> None:
    """The masked word is among the first fifty of the 8,000 that it may be; by chance it is not."""
    fill = transformers.pipeline("fill-mask", model=str(NOVELS.place), top_k=50)
    for text, word in (
        ("it was the best of times , it was the worst of [MASK] , it was the age of wisdom .", "times"),
        ("he shook his [MASK] and said nothing .", "head"),
        ("the old man sat down by the [MASK] and warmed his hands .", "fire"),
    ):
        assert word in [found["token_str"] for found in fill(text)]
