"""Published figures that a user chose to see, and which of them stand beside a figure of ours."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

from benchrunner.errors import RequestError, UnknownName
from benchrunner.leaderboards.leaderboard import Leaderboard
from benchrunner.leaderboards.published import ALL, NONE, SPLIT_KINDS, PublishedFigure
from benchrunner.tasks.task import Task


@final
@dataclass(frozen=True)
class PublishedChoice:
    """Published figures that may stand beside figures of ours. `choose_published` makes it."""

    figures: tuple[PublishedFigure, ...] = ()
    requested: tuple[str, ...] = ()
    """Names of the systems that the user asked for."""

    def beside_metric(self, task: Task, split: str, metric: str) -> list[PublishedFigure]:
        """List the figures of the same metric that stand beside a dev split of a task."""
        return _sorted(figure for figure in self.figures if figure.measures.stands_beside(task, split, metric))

    def beside_average(self, suites: Collection[str], average: str) -> list[PublishedFigure]:
        """List the published figures of the average with this name, over one of these suites."""
        return _sorted(
            figure for figure in self.figures if figure.measures.suite in suites and figure.measures.metric == average
        )

    def notes_on_missing(self, shown: Iterable[PublishedFigure]) -> Iterator[str]:
        """Yield a note on each requested system of which no figure is shown."""
        names = {name for figure in shown for name in _names(figure)}
        for name in self.requested:
            if name.casefold() not in names:
                yield f"published: no figure of {name} is of these tasks and metrics"


def choose_published(
    boards: Iterable[Leaderboard], names: Sequence[str] | None = None, *, backbones: Collection[str] = ()
) -> PublishedChoice:
    """Choose published figures of leaderboards by the names of their systems; upper and lower case are the same.

    A system's name stands for all of its variants, and "SYSTEM (VARIANT)" for one. `all` and `none` stand alone.
    Without names, the rows are chosen that their leaderboards show by default, and those of systems that are among the
    `backbones`. Figures on other data than the task's are never chosen.
    """
    figures = [figure for board in boards for figure in board.figures if not figure.row.other_data]
    if names is None:
        return PublishedChoice(
            tuple(
                figure
                for figure in figures
                if figure.row.by_default or not {*figure.row.backbones}.isdisjoint(backbones)
            )
        )
    requested = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    folded = {name.casefold() for name in requested}
    if not requested or (len(requested) > 1 and folded & {ALL, NONE}):
        raise RequestError(f"Published systems are {ALL}, or {NONE}, or names separated by commas.")
    if folded in ({ALL}, {NONE}):
        return PublishedChoice(tuple(figures) if folded == {ALL} else ())
    known = {name for figure in figures for name in _names(figure)}
    for name in requested:
        if name.casefold() not in known:
            raise UnknownName("published system", name, {figure.row.system for figure in figures})
    return PublishedChoice(tuple(figure for figure in figures if folded.intersection(_names(figure))), requested)


def _names(figure: PublishedFigure) -> tuple[str, str]:
    """Return the names by which users choose the figure's system, in lower case."""
    return figure.row.system.casefold(), figure.row.name.casefold()


def _sorted(figures: Iterable[PublishedFigure]) -> list[PublishedFigure]:
    """Keep the figures of a system together, dev before test, and the systems in their order."""
    listed = list(figures)
    systems = list(dict.fromkeys(figure.row.name for figure in listed))
    return sorted(listed, key=lambda figure: (systems.index(figure.row.name), SPLIT_KINDS.index(figure.measures.kind)))


TEST_CAPTION = "published test figures are of other rows than ours, which are of dev: do not compare them one to one"


def captions(shown: Iterable[PublishedFigure]) -> Iterator[str]:
    """Yield where published figures come from, and whether they can be compared with figures on dev."""
    shown = list(shown)
    if any(figure.measures.kind == "test" for figure in shown):
        yield TEST_CAPTION
    groups: dict[tuple[str, str], list[PublishedFigure]] = {}
    for figure in shown:
        groups.setdefault((figure.row.source, figure.row.notes), []).append(figure)
    for (source, notes), figures in groups.items():
        systems = ", ".join(dict.fromkeys(figure.row.name for figure in figures))
        measured = {figure.measures.kind for figure in figures}
        kinds = " and ".join(kind for kind in SPLIT_KINDS if kind in measured)
        yield f"published: {systems} ({kinds}): {source}{f'; {notes}' if notes else ''}"
