"""Exported models: in the layout of the backbone's family, of fits and of trainers' folders."""

from pathlib import Path

import pytest

from benchrunner import Workspace
from benchrunner.backbones.backbone import OneBackbone
from benchrunner.errors import CheckpointError, RequestError
from benchrunner_kit.testing import tiny_family
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


class Converting(OneBackbone):  # type: ignore[misc]
    """Knows trainers' folders with a file `known`; a file `odd` makes it fail, and a file `half` makes it refuse."""

    def convert(self, source: Path, target: Path) -> bool:
        if (source / "odd").exists():
            raise ValueError("what is this?")
        if (source / "half").exists():
            raise CheckpointError(f"{source}: its last file is missing.")
        if (source / "known").exists():
            target.mkdir()
            self.backbone.load(Workspace(source, source), seed=0).save(target)
        return (source / "known").exists()


def test_the_family_that_knows_a_trainers_folder_exports_it(tmp_path: Path) -> None:
    tiny = tiny_family("other/words")
    made = runner(tmp_path, register_backbones=[Converting(tiny.backbone, tiny.saved)])
    source = tmp_path / "trainer"
    source.mkdir()
    for file, reason in (
        ("", "trainer is neither a finished fit .it has no fit.json. nor a trainer's checkpoint"),
        ("odd", "what is this"),
        ("half", "trainer: its last file is missing"),
    ):
        (source / (file or "unknown")).touch()
        with pytest.raises((CheckpointError, ValueError), match=reason):
            export(str(source), tmp_path / "out", made)
        (source / (file or "unknown")).unlink()
    (source / "known").touch()
    export(str(source), tmp_path / "out", made)
    assert made.plugins.backbone_search.find(str(tmp_path / "out"), made.workspace)[0].name == str(tmp_path / "out")
