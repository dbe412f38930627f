"""Progress of long work: events from inside fits, shown as a bar on a terminal or in a notebook, else as lines."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, final

from benchrunner.console.printing import new_console, print_note, printable
from benchrunner.fits.time_left import TimeLeft

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from benchrunner.fits.fit import Fit

PLAIN_SECONDS = 30.0
"""Seconds between two lines of progress if standard error is not a terminal."""

EVENT_WIDTH = 400
"""The most characters of an event that are shown."""

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
    """An object that reports the events of fits: the `observers` of a `benchrunner.results.Runner`."""

    def reporting_to(self, report: Callable[[Fit, Event], None]) -> contextlib.AbstractContextManager[None]:
        """Send the events to another callback within a `with` block."""


@final
class Watch:
    """Shows the progress of several fits, each with a weight, as one percentage and one estimate of the time left.

    Use it as a context manager, as the `report` of a runner; call `finished` after each fit.
    """

    def __init__(
        self,
        weights: Collection[tuple[Fit, float]],
        *,
        counts: Counted = "step",
        quiet: bool = False,
    ) -> None:
        self._left = TimeLeft(weights)
        self._varied = _varied(fit for fit, _ in weights)
        self._counts, self._quiet = counts, quiet
        self._bar: Progress | None = None
        self._notebook_bar: NotebookBar | None = None
        self._row: TaskID | None = None
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        if not self._quiet and in_notebook():
            self._notebook_bar = NotebookBar()
        elif not self._quiet and sys.stderr.isatty():
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

            columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}", markup=False))
            self._bar = Progress(*columns, console=new_console(stderr=True), transient=True)
            self._row = self._bar.add_task("", total=1.0)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._notebook_bar is not None:
            self._notebook_bar.close()

    def __call__(self, fit: Fit, event: Event) -> None:
        """Take an event from inside a fit and show it."""
        if fit not in self._left or self._quiet:
            return
        if event.kind == self._counts and event.total:
            self._left.advance(fit, event.done, event.total)
        name = f"{fit.task} {fit.backbone}"
        for varied in self._varied.get(_cell(fit), ()):
            value = fit.recipe.as_dict().get(varied)
            name += "" if value is None else f" {varied.replace('_', ' ')} {value}"
        name += f" seed {fit.seed}"
        text = f"{name}: {event.text or event.kind}" + (f" {event.done:.0f}/{event.total:.0f}" if event.total else "")
        self._show(text, urgent=event.kind in ("waiting", "note"))

    def finished(self, fit: Fit) -> None:
        """Count a fit as done."""
        if fit in self._left:
            self._left.finish(fit)

    def _show(self, text: str, *, urgent: bool) -> None:
        is_due = urgent or time.monotonic() - self._last_line > PLAIN_SECONDS
        if self._bar is None and self._notebook_bar is None and not is_due:
            return
        text, seconds, share = printable(text, EVENT_WIDTH), self._left.seconds, self._left.share
        comma = "  "
        if seconds is not None and (round(seconds) > 0 or share == 1):
            text, comma = f"about {_duration(seconds)} left  {text}", ", "
        if self._bar is not None and self._row is not None:
            self._bar.update(self._row, completed=share, description=text)
        elif self._notebook_bar is not None:
            self._notebook_bar.update(share, text)
        else:
            self._last_line = time.monotonic()
            print_note(f"{share:4.0%}{comma}{text}")


@contextlib.contextmanager
def watched(
    reports: Reports,
    weights: Collection[tuple[Fit, float]],
    *,
    counts: Counted = "step",
    show: bool = True,
) -> Iterator[Watch]:
    """Show the progress of a runner's fits on standard error; with `show=False`, leave its `report` alone."""
    with contextlib.ExitStack() as stack:
        watch = stack.enter_context(Watch(weights, counts=counts, quiet=not show))
        if show:
            stack.enter_context(reports.reporting_to(watch))
        yield watch


def quiet_report(fit: Fit, event: Event) -> None:
    """Say only that a fit waits for another process: the default `report` of a runner."""
    if event.kind == "waiting":
        print_note(f"benchrunner: {event.text}")


def _cell(fit: Fit) -> tuple[str, ...]:
    return fit.task, fit.backbone, fit.method


def _varied(fits: Iterable[Fit]) -> dict[tuple[str, ...], list[str]]:
    """Name the values of recipes that tell the fits of a task, a backbone and a method apart."""
    names = dict[tuple[str, ...], list[str]]()
    recipes = dict[tuple[str, ...], dict[str, Any]]()
    for fit in fits:
        own = names.setdefault(_cell(fit), [])
        values = fit.recipe.as_dict()
        first = recipes.setdefault(_cell(fit), values)
        own += [name for name in values if name not in own and values[name] != first.get(name)]
    return names


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


SECONDS = 0.5
"""Least time between two updates of the bar: each is a message to the browser."""


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    return "ipykernel" in sys.modules


@final
class NotebookBar:
    """A bar in the output of a notebook's cell, which is replaced at each update."""

    def __init__(self) -> None:
        from IPython.display import display

        self._updated = 0.0
        self._display: Any = display({"text/plain": "", "text/html": ""}, raw=True, display_id=True)

    def update(self, share: float, text: str) -> None:
        """Show the share of the work that is done, with a text beside the bar."""
        now = time.monotonic()
        if now - self._updated >= SECONDS or share >= 1:
            self._updated = now
            self._display.update(self._shown(share, text), raw=True)

    def close(self) -> None:
        """Empty the output, so that only the result stays below the cell."""
        self._display.update({"text/plain": "", "text/html": ""}, raw=True)

    def _shown(self, share: float, text: str) -> dict[str, str]:
        import html

        label = html.escape(text)
        bar = f'<progress value="{share:.4f}" max="1" aria-label="progress of the study"></progress>'
        return {"text/plain": f"{share:4.0%}  {text}", "text/html": f"{bar} {share:.0%} &nbsp; {label}"}
