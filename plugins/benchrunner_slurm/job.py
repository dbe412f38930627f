"""The part of the executor that runs inside a job, on a compute node."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path

from submitit.helpers import Checkpointable

from benchrunner.engine import write_json
from benchrunner.results import Event, Fit
from benchrunner_clusters import RemoteAnswer, RemoteOrder

PROGRESS_SECONDS = 5.0
"""Time between two writes of a job's progress."""


class RunFit(Checkpointable):
    """Runs one fit. A job that was preempted or ran out of time is queued again, and the fit goes on."""

    def __call__(self, order: RemoteOrder, progress: Path) -> RemoteAnswer:
        """Run the fit of the order; write its progress to a file, which the command reads."""
        try:
            return order.run(_ProgressFile(progress))
        except KeyboardInterrupt:  # cancelled; the training has written its checkpoint
            sys.exit(130)
        finally:
            progress.unlink(missing_ok=True)


class _ProgressFile:
    """Callback for progress that writes the last event to a file, every few seconds."""

    def __init__(self, path: Path) -> None:
        self._path, self._written = path, float("-inf")

    def __call__(self, fit: Fit, event: Event) -> None:
        if time.monotonic() - self._written >= PROGRESS_SECONDS:
            self._written = time.monotonic()
            content = {"fit": fit.id, "kind": event.kind, "done": event.done, "total": event.total, "text": event.text}
            with contextlib.suppress(OSError):  # progress that cannot be shown stops nothing
                write_json(self._path, content)
