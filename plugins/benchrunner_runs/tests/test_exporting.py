"""Exported models: finished fits in the layout of the backbone's family."""

from pathlib import Path

import pytest

from benchrunner.errors import RequestError
from benchrunner_runs.exporting import export
from inline import runner
from moody import fine_tuned


def test_export_uses_the_backbone_layout_and_never_overwrites(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fit = fine_tuned(made)
    export(fit.id, tmp_path / "out", made)
    backbone, _ = made.plugins.backbone_search.find(str(tmp_path / "out"), made.workspace)
    assert backbone.load(made.workspace, seed=0).hidden_size == 12
    with pytest.raises(RequestError, match="out exists already"):
        export(fit.id, tmp_path / "out", made)
    baseline = made.planner.plan(made.plugins.tasks.find("mood"), "", method="majority")
    made.run(baseline)
    with pytest.raises(RequestError, match="method 'majority' leaves no model"):
        export(baseline.id, tmp_path / "other", made)
