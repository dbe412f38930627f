"""Fits that are stopped right after a checkpoint."""

import signal
from typing import Any

import pytest

from benchrunner.fits.computing import Computing
from benchrunner.fits.fit import Fit
from benchrunner.runs.runner import Runner
from benchrunner.training.checkpoints import Checkpoint


def stopped_after(step: int, fit: Fit, runner: Runner) -> Runner:
    """Stop the fit by SIGINT when the checkpoint of a step is written; return the runner that goes on with it."""
    killed = Runner(runner.plugins, runner.workspace, Computing("cpu", checkpoint_seconds=0))
    save = Checkpoint.save

    def save_and_die(checkpoint: Checkpoint, done: int, *more: Any) -> None:
        save(checkpoint, done, *more)
        if done == step:
            signal.raise_signal(signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", save_and_die)
        with pytest.raises(KeyboardInterrupt):
            killed.run(fit)
    return killed
