"""A pre-training that is killed before any change of a file: repeated, it leaves the same files and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from pretraining_runs import QUICK, corpus

from kill_points import KillPoints

WORDS = ("pretrain", "1/32/2", "--corpus", "corpus", "--out", "out", "--runs", "runs", "--steps", "3", *QUICK)
PLANS = {
    "whole": ("--checkpoint-steps", "1", "--export-at", "2"),
    "shares": ("--checkpoint-steps", "1", "--checkpoints", "deepspeed"),
}


def killed(plan: str, folder: Path, few: int) -> tuple[int, list[str]]:
    """Kill a pre-training at all its points, or at a few of them; return their number and the faults."""
    points = KillPoints(
        folder, (*WORDS, *PLANS[plan]), lambda home: corpus(home / "corpus"), environment={"INSTALLED": "1"}
    )
    changes, expected = points.whole()
    assert len(changes) > 5
    assert "finished.json" in changes[-1], "nothing that a kill could leave behind follows the end of the run"
    chosen = range(1, len(changes) + 1) if not few else range(2, len(changes), max(1, len(changes) // few))
    faults = [f"{fault} ({changes[point - 1]})" for point in chosen for fault in points.faults(point, expected)]
    return len(chosen), faults


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("plan", PLANS)
def test_a_run_killed_at_every_change_leaves_nothing_behind(plan: str, tmp_path: Path) -> None:
    count, faults = killed(plan, tmp_path, 0)
    print(f"pretrain {plan}: {count} points, {len(faults)} faults")
    assert faults == []
