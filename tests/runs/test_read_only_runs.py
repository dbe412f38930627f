"""A finished fit is read from a folder that cannot be written to; what it has not answered before is not kept."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchrunner.fits.fit import Fit
from benchrunner.results import Runner
from benchrunner.runs.ensembles import answer
from benchrunner.runs.predicting import predict
from benchrunner_submit import answer_file
from counted_study import SmallDisk, small_disk
from inline import runner


@pytest.fixture
def finished(tmp_path: Path) -> Iterator[tuple[Runner, Fit]]:
    """Finish a fit and predict dev with it, then make its runs folder read-only."""
    (tmp_path / "runs").mkdir()
    disks = small_disk(tmp_path / "disk")
    disk = next(disks)
    made = runner(tmp_path)
    if os.geteuid() == 0:  # permissions do not hold for root, but a read-only file system does
        if not disk.mount(kilobytes=5000):
            pytest.skip("this root may not mount a small file system")
        made = made.in_workspace(replace(made.workspace, runs=disk.folder))
    fit = made.planner.plan(made.plugins.tasks.find("mood"), "words")
    made.run(fit)
    predict(fit, "dev", made)
    _set_writable(made, disk, False)
    yield made, fit
    _set_writable(made, disk, True)
    next(disks, None)


def _set_writable(made: Runner, disk: SmallDisk, writable: bool) -> None:
    if os.geteuid() == 0:
        disk.resize("rw" if writable else "ro")
    else:
        for path in (made.workspace.runs, *made.workspace.runs.rglob("*")):
            path.chmod((0o755 if path.is_dir() else 0o644) if writable else (0o555 if path.is_dir() else 0o444))


def test_a_finished_fit_in_a_read_only_folder_is_read(finished: tuple[Runner, Fit], tmp_path: Path) -> None:
    made, fit = finished
    files = sorted(made.workspace.runs.rglob("*"))
    dev, test = predict(fit, "dev", made), predict(fit, "test", made)
    assert (len(dev.answers), len(test.answers)) == (24, 20)
    assert answer([fit.id], made).answers == dev.answers
    (own,) = answer_file([fit.id], made, tmp_path / "data" / "mood" / "test.tsv")
    assert own.answers == test.answers
    assert sorted(made.workspace.runs.rglob("*")) == files
