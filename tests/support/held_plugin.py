"""A plugin whose fits stop and wait at a chosen moment, so that a test can interrupt a command exactly there.

HOLD names the moment, MARKS the folder in which a held process leaves a file `moment-pid`. GRACE is the time, in
seconds, that workers have for a checkpoint. FORKED makes the workers forks of the command, which import nothing again.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchrunner import hookimpl
from benchrunner.engine import Job, Method, Outcome
from benchrunner.errors import FitError
from benchrunner.fits.progress import Event
from benchrunner.results import Fit
from benchrunner.runs import workers
from forked_workers import fork_connected
from worker_offers import register_backbones as register_backbones, register_tasks as register_tasks

IN_WORKER = sys.argv[0] == "-c"
"""Whether this process is a worker: commands are started as modules."""
SLOW_STEP = 0.02
"""Seconds that are added to a training step, so that training outlasts every test at little cost."""


def hold(moment: str, seconds: float = 300.0) -> None:
    """Leave the mark of a moment and wait, if HOLD names this moment."""
    if os.environ.get("HOLD") == moment:
        Path(os.environ["MARKS"], f"{moment}-{os.getpid()}").touch()
        time.sleep(seconds)


if "GRACE" in os.environ:
    workers.GRACE_SECONDS = float(os.environ["GRACE"])
if "FORKED" in os.environ:
    workers.start_connected = fork_connected  # type: ignore[assignment, attr-defined]
hold("worker imports plugins" if IN_WORKER else "parent imports plugins")


class PoorMethod(Method):
    """Fits at once; cannot answer in a worker, so that the parent process asks again, and is held there."""

    name = "poor"
    about = "for tests"
    needs_backbone = False

    def fit(self, job: Job) -> Outcome:
        return Outcome()

    def predict(self, job: Job, table: Any) -> Any:
        if not IN_WORKER:
            hold("parent predicts")
        raise FitError("no answers")


@hookimpl
def register_methods() -> Iterator[Method]:
    yield PoorMethod()


@hookimpl
def on_progress(fit: Fit, event: Event) -> None:
    Path(os.environ["MARKS"], f"begun-{fit.id}").touch()
    if os.environ.get("HOLD") == "nothing, but print":
        print("noise")
    if event.kind == "step":
        hold("stuck in a step")
        hold("training", SLOW_STEP)
    hold(event.kind)
