"""Shared folders of studies that added restarts until comparisons were clear."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shared_folders import SharedFolder

from benchrunner.results import Grid, compared, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_kit.testing import TinyBackbone
from benchrunner_share.share import share_study
from chancy import chancy

NOTE = "restarts were added until clear: looks at 2, 4; corrected for this"


def test_a_shared_folder_says_that_restarts_were_added(tmp_path: Path) -> None:
    """All answers of the two systems are equal, so that nothing is added; other numbers of restarts are a forgery."""
    made = chancy(tmp_path)
    other = tmp_path / "saved" / "other"
    other.mkdir(parents=True)
    TinyBackbone().load(made.workspace, seed=0).save(other)
    study = compared(
        ("words", str(other)),
        tuple(made.plugins.tasks.values()),
        Fitting(Grid({"lr": (4, 8)}), seeds=(0, 1, 2, 3), looks=(2, 4)),
    )
    share_study(run_study(study, made), tmp_path / "shared", made, name="looks", report=False)
    folder = SharedFolder(tmp_path / "shared", made)
    cells = folder.read("study.json")["result"]["cells"]
    assert [cell["warnings"][-1] for cell in cells] == [NOTE, NOTE]
    assert cells[0]["fitting"]["looks"] == [2, 4]
    assert folder.verification().differences == ()

    def leave_out(study: dict[str, Any]) -> None:
        study["result"]["cells"][0]["candidates"][1]["fits"].pop()

    folder.edit("study.json", leave_out)
    folder.deceive()
    assert "the numbers of restarts are not those of the looks 2, 4" in folder.differences()
