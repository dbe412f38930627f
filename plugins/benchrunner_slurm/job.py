"""The part of the executor that runs inside a job, on a compute node."""

from __future__ import annotations

import contextlib
import sys
from functools import partial
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
            return order.run(partial(_write, progress), seconds=PROGRESS_SECONDS)
        except KeyboardInterrupt:  # cancelled; the training has written its checkpoint
            sys.exit(130)
        finally:
            progress.unlink(missing_ok=True)


def _write(path: Path, fit: Fit, event: Event) -> None:
    """Write an event of a fit to a file."""
    content = {"fit": fit.id, "kind": event.kind, "done": event.done, "total": event.total, "text": event.text}
    with contextlib.suppress(OSError):  # progress that cannot be shown stops nothing
        write_json(path, content)
