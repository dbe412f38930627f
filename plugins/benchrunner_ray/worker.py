"""The part of the executor that runs inside Ray's worker processes."""

from __future__ import annotations

import time
from typing import Any

from benchrunner.results import Event, Fit
from benchrunner_clusters import RemoteAnswer, RemoteOrder

PROGRESS_SECONDS = 0.5
"""Time between two events of one fit that are sent to the command."""


def run_fit(order: RemoteOrder, progress: Any) -> RemoteAnswer:
    """Run the fit of an order; send its progress to the actor `progress`."""
    return order.run(_Sender(progress))


class Progress:
    """Actor that holds the last event of each fit, until the command takes the events."""

    def __init__(self) -> None:
        self._events: dict[str, Event] = {}

    def put(self, fit: str, event: Event) -> None:
        """Replace the event of a fit."""
        self._events[fit] = event

    def take(self) -> dict[str, Event]:
        """Give the events since the last call: fit id -> event."""
        events, self._events = self._events, {}
        return events


class _Sender:
    """Callback for progress that sends events to the actor, not too many of them."""

    def __init__(self, progress: Any) -> None:
        self._progress, self._sent = progress, float("-inf")

    def __call__(self, fit: Fit, event: Event) -> None:
        if time.monotonic() - self._sent >= PROGRESS_SECONDS or event.kind in ("waiting", "note"):
            self._sent = time.monotonic()
            self._progress.put.remote(fit.id, event)
