"""Where the real files are, and tag sequences as people and systems really write them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import strategies as st

from benchrunner.workspace import Settings, Workspace

TAGS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
WILD = st.lists(st.sampled_from(TAGS), max_size=12)
"""Any tags in any order."""


@st.composite
def well_formed(draw: st.DrawFn) -> list[str]:
    """IOB2."""
    tags: list[str] = []
    for kind, length in draw(st.lists(st.tuples(st.sampled_from(["", "LOC", "PER"]), st.integers(1, 3)), max_size=6)):
        tags += [f"B-{kind}", *[f"I-{kind}"] * (length - 1)] if kind else ["O"] * length
    return tags


def workspace(folder: Path) -> Workspace:
    return Workspace(runs=folder / "runs", cache=folder / "cache", data=folder, settings=Settings(offline=True))


def real_data(part: str) -> Path:
    """Files that may not be passed on, where somebody has them: nothing depends on them."""
    named = os.environ.get("BENCHRUNNER_REAL_DATA")
    folder = (Path(named) if named else Path.home() / ".cache" / "benchrunner-real-data") / part
    if not folder.is_dir():
        pytest.skip(f"no {folder}: set BENCHRUNNER_REAL_DATA to the folder above {part}/")
    return folder


def conlleval_by_state(sentences: list[tuple[list[str], list[str]]]) -> dict[str, tuple[int, int, int]]:
    """Type -> phrases in gold, predicted and right, by a walk that remembers whether both sides agree so far.

    Written from the script's rules for where chunks start and end; it shares nothing with the code that it checks.
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
        for one, other in zip([*gold, "O"], [*predicted, "O"], strict=True):
            if together and ends(before_gold, one) and ends(before_predicted, other):
                counts[together][2] += 1
                together = ""
            elif together and (ends(before_gold, one) or ends(before_predicted, other)):
                together = ""
            for side, (before, tag) in enumerate(((before_gold, one), (before_predicted, other))):
                if starts(before, tag):
                    counts.setdefault(tag.split("-")[1], [0, 0, 0])[side] += 1
            if starts(before_gold, one) and starts(before_predicted, other) and one[2:] == other[2:]:
                together = one.split("-")[1]
            before_gold, before_predicted = one, other
    return {kind: (some[0], some[1], some[2]) for kind, some in counts.items()}
