"""Time left of several fits, estimated from what fits have cost so far."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from benchrunner.fits.fit import Fit


@final
@dataclass
class _Progress:
    """Progress of one fit."""

    groups: tuple[tuple[str, ...], ...]
    """What other fits may cost as much as this one, the closest first: the same task, backbone and method; the same
    backbone and method; all fits."""
    work: float
    share: float = 0.0
    """Share of the work that is done."""
    share_before: float = 0.0
    """Share that was done when the fit began in this process: an earlier process did it."""
    began: float | None = None
    """Time of the first event in this process; None if there was none."""
    first_step: tuple[float, float] | None = None
    """Time and share of the first step in this process."""
    ended: float = 0.0
    """Time of the last event."""
    is_finished: bool = False
    """Whether nothing is left to do, also after the last step."""
    recorded: float | None = None
    """Seconds that the fit took in an earlier process."""

    @property
    def span(self) -> float:
        """Seconds that the fit has taken in this process."""
        return 0.0 if self.began is None else self.ended - self.began

    @property
    def measured(self) -> tuple[float, float]:
        """Seconds, and the work done in them. What comes before the first step counts once the fit is finished."""
        if self.first_step is None:
            return 0.0, 0.0
        if self.share == 1.0:
            return self.span, (1 - self.share_before) * self.work
        time_of_step, share_of_step = self.first_step
        return self.ended - time_of_step, (self.share - share_of_step) * self.work

    @property
    def left(self) -> float:
        """Work that is not done."""
        return (1 - self.share) * self.work


@final
class TimeLeft:
    """Estimates the time left. Fits of one backbone on one task cost in proportion to their work.

    What a fit costs for a unit of work is measured on fits of the same task, backbone and method; if there are none, on
    fits of the same backbone and method, or on all. Fits that ran in this process count first, then the seconds in the
    records of fits that were finished before. Fits may run at the same time: the time between fits and the number of
    fits at once are in the ratio of the wall time to the sum of the fits' times.
    """

    def __init__(
        self,
        works: Iterable[tuple[Fit, float]],
        clock: Callable[[], float] = time.monotonic,
        most: int | None = None,
    ) -> None:
        """`most` is the number of fits that run at most, if a search leaves some out."""
        self._clock = clock
        self._fits: dict[str, _Progress] = {}
        for fit, work in works:
            groups = (fit.backbone, fit.method, fit.task), (fit.backbone, fit.method), ()
            self._fits[fit.id] = _Progress(groups, work)
        self._started: float | None = None
        self._most = most

    @property
    def _counted(self) -> list[_Progress]:
        """The fits that have begun, and of the others as many as may still run."""
        begun_first = sorted(self._fits.values(), key=lambda fit: fit.began is None and not fit.is_finished)
        return begun_first[: self._most]

    def __contains__(self, fit: Fit) -> bool:
        return fit.id in self._fits

    def begin(self, fit: Fit) -> None:
        """Note that something happens in a fit now."""
        now = self._clock()
        progress = self._fits[fit.id]
        if self._started is None:
            self._started = now
        if progress.began is None:
            progress.began = now
        progress.ended = now

    def advance(self, fit: Fit, done: float, total: float) -> None:
        """Note that `done` of `total` steps of a fit are done. Steps before the first call were done earlier."""
        self.begin(fit)
        progress = self._fits[fit.id]
        progress.share = done / total
        if progress.first_step is None:
            progress.share_before = max(done - 1, 0) / total
            progress.first_step = progress.ended, progress.share

    def finish(self, fit: Fit, seconds: float | None = None) -> None:
        """Note that a fit is finished. `seconds` are those of its record, for a fit that was finished before."""
        progress = self._fits[fit.id]
        if progress.began is None:
            progress.recorded = seconds
        else:
            progress.ended = self._clock()
        progress.share, progress.is_finished = 1.0, True

    @property
    def is_finished(self) -> bool:
        """Whether every fit is finished."""
        return all(fit.is_finished for fit in self._counted)

    @property
    def share(self) -> float:
        """Share of the whole time that has passed, as far as costs are known."""
        rate = self._rates()
        whole = left = 0.0
        for fit in self._counted:
            whole += rate(fit) * fit.work
            left += rate(fit) * fit.left
        return 1 - left / whole if whole else 1.0

    @property
    def seconds(self) -> float | None:
        """Seconds that are left; None as long as no fit was measured."""
        rate = self._rates()
        is_known = False
        ran = left = 0.0
        for fit in self._counted:
            is_measured = fit.measured[0] > 0
            is_known = is_known or is_measured or bool(fit.recorded)
            ran += fit.span if is_measured else 0.0
            left += rate(fit) * fit.left
        if not is_known:
            return None
        wall = 0.0 if self._started is None else self._clock() - self._started
        return left * wall / ran if ran else left  # fits at once shorten the sum of their times

    def _rates(self) -> Callable[[_Progress], float]:
        """Return a function that gives the seconds for a unit of a fit's work; 1.0 where nothing was measured."""
        seconds = defaultdict[tuple[bool, tuple[str, ...]], float](float)  # by whether an earlier process ran the fits
        work = defaultdict[tuple[bool, tuple[str, ...]], float](float)
        for fit in self._fits.values():
            took, done = fit.measured
            is_recorded = took <= 0
            if is_recorded:
                took, done = fit.recorded or 0.0, fit.work
            for group in fit.groups if took else ():
                seconds[is_recorded, group] += took
                work[is_recorded, group] += done

        def rate(fit: _Progress) -> float:
            of_own = itertools.product((False, True), fit.groups[:-1])
            for known in (*of_own, (False, ()), (True, ())):
                if known in work:
                    return seconds[known] / work[known]
            return 1.0

        return rate
