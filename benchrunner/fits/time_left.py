"""Time left of several fits: what is left of their work, at the speed of this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from benchrunner.fits.fit import Fit

MOST_SHARE = 0.99
"""Share of a fit's work that is done after its last step: the fit is evaluated and saved after it."""


@final
class TimeLeft:
    """Estimates the time left of fits, which cost in proportion to their work."""

    def __init__(self, works: Iterable[tuple[Fit, float]], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._works = {fit.id: work for fit, work in works}
        self._whole = sum(self._works.values())
        self._done = dict[str, float]()
        self._done_before = dict[str, float]()
        self._started: float | None = None

    def __contains__(self, fit: Fit) -> bool:
        return fit.id in self._works

    def advance(self, fit: Fit, done: float, total: float) -> None:
        """Note that `done` of `total` steps of a fit are done. Steps before the first call were done earlier."""
        if self._started is None:
            self._started = self._clock()
        self._note(fit, min(done / total, MOST_SHARE))

    def finish(self, fit: Fit) -> None:
        """Note that a fit is finished; one without steps in this process was finished before."""
        self._note(fit, 1.0)

    def _note(self, fit: Fit, share: float) -> None:
        """Note which share of a fit's work is done."""
        self._done[fit.id] = share * self._works[fit.id]
        self._done_before.setdefault(fit.id, self._done[fit.id])

    @property
    def share(self) -> float:
        """Share of the work that is done."""
        return min(1.0, sum(self._done.values()) / self._whole) if self._whole else 1.0

    @property
    def seconds(self) -> float | None:
        """Seconds that are left; None as long as no step was measured."""
        done = sum(self._done.values())
        done_here = done - sum(self._done_before.values())
        if self._started is None or done_here <= 0:
            return None
        return (self._clock() - self._started) * max(0.0, self._whole - done) / done_here
