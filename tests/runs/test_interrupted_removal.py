"""A process that is killed while it removes weights leaves nothing behind for good."""

import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest

from benchrunner.io import files
from inline import QUICK, mood, runner


def test_what_a_killed_removal_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = runner(tmp_path)
    fit = made.planner.plan(mood(), "words", recipe=QUICK)
    made.run(fit)
    folder = made.folder(fit)
    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr(shutil, "rmtree", Mock(side_effect=KeyboardInterrupt))
        made.forget_weights(fit)
    assert len(list(folder.path.glob(".model.*.part"))) == 1
    made.forget_weights(fit)
    assert list(folder.path.glob(".model.*.part")), "the process lives, so that it may still work there"
    monkeypatch.setattr(files, "_lives", lambda process: False)
    made.forget_weights(fit)
    assert not list(folder.path.glob(".*.part")) and not (folder.path / ".lease").exists()
