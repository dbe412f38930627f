"""Helpers: the folder of real files, strategies for tag sequences, and an independent count of phrases."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
from hypothesis import strategies as st

from benchrunner import Rows, Workspace
from benchrunner.workspace import Settings
from benchrunner_conll import CONLL2003

TAGS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
WILD = st.lists(st.sampled_from(TAGS), max_size=12)
"""Strategy for tags in any order."""


@st.composite
def well_formed(draw: st.DrawFn) -> list[str]:
    """Draw well-formed IOB2 tags."""
    tags: list[str] = []
    for kind, length in draw(st.lists(st.tuples(st.sampled_from(["", "LOC", "PER"]), st.integers(1, 3)), max_size=6)):
        tags += [f"B-{kind}", *[f"I-{kind}"] * (length - 1)] if kind else ["O"] * length
    return tags


def workspace(folder: Path) -> Workspace:
    return Workspace(runs=folder / "runs", cache=folder / "cache", data=folder, settings=Settings(offline=True))


def real_data(part: str) -> Path:
    """Find a folder of real files, which may not be redistributed; skips the test where they are missing."""
    named = os.environ.get("BENCHRUNNER_REAL_DATA")
    folder = (Path(named) if named else Path.home() / ".cache" / "benchrunner-real-data") / part
    if not folder.is_dir():
        pytest.skip(f"no {folder}: set BENCHRUNNER_REAL_DATA to the folder above {part}/")
    return folder


@cache
def real_rows(split: str) -> Rows:
    """Read a split of the real files once."""
    return CONLL2003.task().load(split, workspace(real_data("conll2003")))


def conlleval_by_state(sentences: list[tuple[list[str], list[str]]]) -> dict[str, tuple[int, int, int]]:
    """Count gold, predicted and right phrases of each type in a walk that remembers whether both sides agree so far.

    Written from the script's rules for where chunks start and end. Shares no code with the package.
    """
    counts: dict[str, list[int]] = {}

    def starts(before: str, tag: str) -> bool:
        if tag == "O":
            return False
        return tag.startswith("B-") or before == "O" or before.split("-")[1] != tag.split("-")[1]

    def ends(before: str, tag: str) -> bool:
        if before == "O":
            return False
        return tag == "O" or tag.startswith("B-") or before.split("-")[1] != tag.split("-")[1]

    for gold, predicted in sentences:
        together, before_gold, before_predicted = "", "O", "O"
        for gold_tag, tag in zip([*gold, "O"], [*predicted, "O"], strict=True):
            if together and ends(before_gold, gold_tag) and ends(before_predicted, tag):
                counts[together][2] += 1
                together = ""
            elif together and (ends(before_gold, gold_tag) or ends(before_predicted, tag)):
                together = ""
            for side, (before, now) in enumerate(((before_gold, gold_tag), (before_predicted, tag))):
                if starts(before, now):
                    counts.setdefault(now.split("-")[1], [0, 0, 0])[side] += 1
            if starts(before_gold, gold_tag) and starts(before_predicted, tag) and gold_tag[2:] == tag[2:]:
                together = gold_tag.split("-")[1]
            before_gold, before_predicted = gold_tag, tag
    return {kind: (numbers[0], numbers[1], numbers[2]) for kind, numbers in counts.items()}
