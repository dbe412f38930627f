"""What long work says while it runs, and who shows it: a bar on a terminal, plain lines anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from benchrunner.fits import Fit

PLAIN_SECONDS = 15.0
"""Between two lines where there is no terminal."""


@dataclass(frozen=True)
class Event:
    """One thing that happened inside a fit."""

    kind: Literal["encoding", "step", "predicting", "waiting", "note"]
    done: float = 0.0
    total: float = 0.0
    """`done` of `total`: training steps, or rows predicted."""
    text: str = ""


class Watch:
    """Follows several fits, each with a weight, to one share of the whole and one estimate of the time left."""

    def __init__(
        self,
        weights: Iterable[tuple[Fit, float]],
        *,
        counts: Literal["step", "predicting"] = "step",
        quiet: bool = False,
    ) -> None:
        self._weights = {fit.id: weight for fit, weight in weights}
        self._total = sum(self._weights.values()) or 1.0
        self._shares: dict[str, float] = {}
        self._counts, self._quiet = counts, quiet
        self._bar: Progress | None = None
        self._row: TaskID | None = None
        self._said = self._started = time.monotonic()
        self._begun = 0.0

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
        """The runner's `report`."""
        if fit.id not in self._weights or self._quiet:
            return
        if event.kind == self._counts and event.total:
            if not self._shares:  # what an earlier run left done says nothing about the speed of this one
                self._started, self._begun = time.monotonic(), (event.done - 1) / event.total * self._weights[fit.id]
            self._shares[fit.id] = event.done / event.total
        name = f"{fit.task} {fit.backbone} lr {fit.recipe.lr:g} seed {fit.seed}"
        text = f"{name}: {event.text or event.kind}" + (f" {event.done:.0f}/{event.total:.0f}" if event.total else "")
        self._show(text, urgent=event.kind in ("waiting", "note"))

    def finished(self, fit: Fit) -> None:
        """A fit is done, or was found done."""
        if fit.id in self._weights:
            if fit.id not in self._shares:
                self._begun += self._weights[fit.id]
            self._shares[fit.id] = 1.0

    def _show(self, text: str, *, urgent: bool) -> None:
        done = sum(self._weights[one] * share for one, share in self._shares.items())
        if self._bar is not None and self._row is not None:
            self._bar.update(self._row, completed=done, description=text)
        elif urgent or time.monotonic() - self._said > PLAIN_SECONDS:
            self._said = time.monotonic()
            spent, gained = self._said - self._started, done - self._begun
            left = f", about {_duration((self._total - done) * spent / gained)} left" if gained > 0 else ""
            print(f"{done / self._total:4.0%}{left}  {text}", file=sys.stderr, flush=True)


def silent(fit: Fit, event: Event) -> None:
    """The `report` of a runner that nobody watches."""


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
