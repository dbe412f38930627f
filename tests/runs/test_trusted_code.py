"""Trusted code of checkpoints: where settings name any, fits and predictions are left to worker processes."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forked
from benchrunner.errors import FitError, RequestError
from benchrunner.fits.fit import Fit
from benchrunner.results import Local, Runner
from benchrunner.runs import predicting
from benchrunner.runs.fit_orders import FitOrder
from benchrunner.workspace import Settings
from cluster_plugin import Home

COMMIT = "0123456789" * 4


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(tmp_path, monkeypatch)


def trusting(runner: Runner) -> Runner:
    settings = Settings(trusted_code=(f"owner/name@{COMMIT}",))
    return runner.in_workspace(replace(runner.workspace, settings=settings))


def test_a_folder_is_trusted_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code").mkdir()
    assert Settings(trusted_code=("code",)).trusted_code == (str(tmp_path / "code"),)


@pytest.mark.parametrize("code", ["owner/name", "owner/name@main", f"owner/name@{COMMIT[:39]}", f"name@{COMMIT}"])
def test_a_repository_is_trusted_at_a_full_commit_only(code: str) -> None:
    with pytest.raises(RequestError, match="a full commit of 40 digits"):
        Settings(trusted_code=(code,))


def test_an_order_lets_its_worker_run_trusted_code(home: Home) -> None:
    runner = trusting(home.runner())
    [fit] = home.fits(runner, 1)
    settings = FitOrder.of(fit, runner.fit_runner).workspace.settings
    assert runner.workspace.settings.needs_workers and not settings.needs_workers
    assert settings.trusted_code == runner.workspace.settings.trusted_code


def test_workers_fit_and_predict_where_code_is_trusted(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.Popen", forked.Popen)
    runner = trusting(home.runner())
    [fit] = home.fits(runner, 1)
    [(_, record)] = Local(1).run([fit], runner.fit_runner)
    assert record.status == "done"
    [begun] = home.marks.glob(f"{fit.id}-*")
    assert int(begun.name.split("-")[1]) != os.getpid()

    def refuse(fit: Fit, *_: Any) -> None:
        raise FitError("This process must not predict.")

    computed = predicting._computed_outputs
    monkeypatch.setattr(predicting, "_computed_outputs", refuse)
    rows = runner.planner.rows(runner.plugins.tasks.find("mine/mood"), "test")
    outputs = np.asarray(predicting.raw_outputs(fit, rows, runner))
    np.testing.assert_array_equal(outputs, computed(fit, rows, home.runner()))
