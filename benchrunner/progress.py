"""Progress of long work: events from inside fits, shown as a bar on a terminal and as plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Protocol, Self, final

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from benchrunner.fits import Fit

PLAIN_SECONDS = 15.0
"""Seconds between two lines of progress if standard error is not a terminal."""

Counted = Literal["step", "predicting"]
"""Kind of event that a `Watch` counts as progress: training steps or predicted rows."""


@final
@dataclass(frozen=True)
class Event:
    """Something that happened inside a fit."""

    kind: Literal["encoding", "step", "predicting", "waiting", "note"]
    done: float = 0.0
    total: float = 0.0
    """`done` of `total`: training steps, or rows predicted."""
    text: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Figures of a training step: `loss`, `lr` (learning rate) and `examples_per_second` since the figures before. Only
    every tenth step has figures, and the last one."""


class Reports(Protocol):
    """An object that reports the events of its fits: a `benchrunner.Runner`."""

    def reporting_to(self, report: Callable[[Fit, Event], None]) -> contextlib.AbstractContextManager[None]:
        """Send the events to another callback within a `with` block."""


@final
class Watch:
    """Shows the progress of several fits, each with a weight, as one percentage and one estimate of the time left.

    Use it as a context manager, as the `report` of a runner; call `finished` after each fit.
    """

    def __init__(self, weights: Iterable[tuple[Fit, float]], *, counts: Counted = "step", quiet: bool = False) -> None:
        self._weights = {fit.id: weight for fit, weight in weights}
        self._total = sum(self._weights.values()) or 1.0
        self._shares: dict[str, float] = {}  # fit id -> share of its work that is done
        self._counts, self._quiet = counts, quiet
        self._bar: Progress | None = None
        self._row: TaskID | None = None
        self._last_line = self._started = time.monotonic()
        self._done_before = 0.0  # weight of what was done before `_started`

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._row = self._bar.add_task("", total=self._total)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, fit: Fit, event: Event) -> None:
        """Take an event from inside a fit and show it."""
        if fit.id not in self._weights or self._quiet:
            return
        if event.kind == self._counts and event.total:
            if not self._shares:  # steps that an earlier run left done say nothing about the speed of this run
                self._started = time.monotonic()
                self._done_before = (event.done - 1) / event.total * self._weights[fit.id]
            self._shares[fit.id] = event.done / event.total
        name = f"{fit.task} {fit.backbone} lr {fit.recipe.lr:g} seed {fit.seed}"
        text = f"{name}: {event.text or event.kind}" + (f" {event.done:.0f}/{event.total:.0f}" if event.total else "")
        self._show(text, urgent=event.kind in ("waiting", "note"))

    def finished(self, fit: Fit) -> None:
        """Count a fit as done, whether it ran now or was finished before."""
        if fit.id in self._weights:
            if fit.id not in self._shares:
                self._done_before += self._weights[fit.id]
            self._shares[fit.id] = 1.0

    def _show(self, text: str, *, urgent: bool) -> None:
        done = sum(self._weights[fit] * share for fit, share in self._shares.items())
        if self._bar is not None and self._row is not None:
            self._bar.update(self._row, completed=done, description=text)
        elif urgent or time.monotonic() - self._last_line > PLAIN_SECONDS:
            self._last_line = time.monotonic()
            seconds, gained = self._last_line - self._started, done - self._done_before
            left = f", about {_duration((self._total - done) * seconds / gained)} left" if gained > 0 else ""
            print(f"{done / self._total:4.0%}{left}  {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def watched(
    runner: Reports, weights: Iterable[tuple[Fit, float]], *, counts: Counted = "step", show: bool = True
) -> Iterator[Watch]:
    """Show the progress of a runner's fits on standard error; with `show=False`, leave the runner's `report` alone."""
    with contextlib.ExitStack() as stack:
        watch = stack.enter_context(Watch(weights, counts=counts, quiet=not show))
        if show:
            stack.enter_context(runner.reporting_to(watch))
        yield watch


def silent(fit: Fit, event: Event) -> None:
    """Ignore an event: the default `report` of a runner."""


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
