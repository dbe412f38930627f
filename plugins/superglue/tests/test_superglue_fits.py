"""Every task can be learned from its demo data, and a submission follows, with the tiny encoder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchrunner import Demo, Runner, discover, hookimpl, run_study
from benchrunner.testing import tiny_family


class Tiny:
    """A plugin with the tiny encoder."""

    @staticmethod
    @hookimpl
    def register_backbones() -> list[object]:
        return [tiny_family()]


@pytest.mark.slow
def test_every_task_is_learned_and_submitted(tmp_path: Path) -> None:
    import benchrunner_superglue

    plugins = discover(extra=[("superglue", benchrunner_superglue), ("tiny", Tiny)], installed=False)
    assert not plugins.set_aside
    planned = Demo.plan(tmp_path, plugins)
    study = replace(planned.study, changes={"epochs": 8, "batch_size": 8, "lr": 0.02, "precision": "fp32"})
    demo = replace(planned, study=study)
    demo.write_data()
    runner = Runner(plugins, demo.workspace, device="cpu")
    result = run_study(demo.study, runner)
    assert result.is_complete
    (submission,) = demo.write_submissions(result, runner)
    assert submission.faults == ()
    better = [
        cell.cell.task.name
        for cell in result.cells
        for term, spread in list(cell.spreads.items())[:1]
        if (spread.mean.value or 0) > (result.baseline[term].value or 0)
    ]
    print(better, {term: spread.mean.value for cell in result.cells for term, spread in cell.spreads.items()})
    assert len(better) >= 6
