"""The part of the executor that runs inside Ray's worker processes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from benchrunner.results import Event, Runner
from benchrunner_clusters import RemoteAnswer, RemoteOrder

PROGRESS_SECONDS = 0.5
"""Time between two events of one fit that are sent to the command."""


def run_fit(order: RemoteOrder, progress: Any) -> RemoteAnswer:
    """Run the fit of an order; send its progress to the actor `progress`."""
    kept = _runners(order.mark)
    return order.run(lambda fit, event: progress.put.remote(fit.id, event), seconds=PROGRESS_SECONDS, runners=kept)


@lru_cache(maxsize=1)
def _runners(mark: str) -> dict[Any, Runner]:
    """Return what keeps the plugins and data of this process's last fit, if that was sent together with this one."""
    return {}


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
