"""Published figures that a user chose to see, and which of them stand beside a figure of ours."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

from benchrunner.errors import RequestError, UnknownName
from benchrunner.leaderboards.board import Board
from benchrunner.leaderboards.published import ALL, NONE, PublishedFigure
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
        return _sorted([figure for figure in self.figures if figure.measures.stands_beside(task, split, metric)])

    def beside_average(self, suites: Collection[str], average: str) -> list[PublishedFigure]:
        """List the published figures of the average with this name, over one of these suites."""
        beside = list[PublishedFigure]()
        for figure in self.figures:
            measures = figure.measures
            if measures.suite in suites and measures.metric == average:
                beside.append(figure)
        return _sorted(beside)

    def notes_on_missing(self, shown: Iterable[PublishedFigure]) -> Iterator[str]:
        """Yield a note on each requested system of which no figure is shown."""
        names = _all_names(shown)
        for name in self.requested:
            if name.casefold() not in names:
                yield f"published: no figure of {name} is of these tasks and metrics"


def choose_published(
    boards: Iterable[Board], names: Sequence[str] | None = None, *, backbones: Collection[str] = ()
) -> PublishedChoice:
    """Choose published figures of leaderboards by the names of their systems; upper and lower case are the same.

    A system's name stands for all of its variants, and "SYSTEM (VARIANT)" for one. `all` and `none` stand alone.
    Without names, the rows are chosen that their leaderboards show by default, and those of systems that are among the
    `backbones`. Figures on other data than the task's are never chosen.
    """
    figures = list[PublishedFigure]()
    for board in boards:
        figures += [figure for figure in board.figures if not figure.row.other_data]
    if names is None:
        compared = set(backbones)
        usual = [figure for figure in figures if figure.row.by_default or compared & {*figure.row.backbones}]
        return PublishedChoice(tuple(usual))
    requested = [name.strip() for name in names if name.strip()]
    folded = {name.casefold() for name in requested}
    if folded == {NONE}:
        return PublishedChoice()
    if folded == {ALL}:
        return PublishedChoice(tuple(figures))
    if not folded or folded & {ALL, NONE}:
        raise RequestError(f"Published systems are {ALL}, or {NONE}, or names separated by commas.")
    known = _all_names(figures)
    for name in requested:
        if name.casefold() not in known:
            raise UnknownName("published system", name, {figure.row.system for figure in figures})
    chosen = [figure for figure in figures if figure.names & folded]
    return PublishedChoice(tuple(chosen), tuple(dict.fromkeys(requested)))


def _all_names(figures: Iterable[PublishedFigure]) -> set[str]:
    names = set[str]()
    for figure in figures:
        names |= figure.names
    return names


def _sorted(figures: Sequence[PublishedFigure]) -> list[PublishedFigure]:
    """Keep the figures of a system together, dev before test, and the systems in their order."""
    of_system: dict[str, list[PublishedFigure]] = {}
    for figure in figures:
        of_system.setdefault(figure.row.name, []).append(figure)
    ordered = list[PublishedFigure]()
    for own in of_system.values():
        ordered += sorted(own, key=lambda figure: figure.measures.kind)  # dev, test
    return ordered


TEST_CAPTION = "published test figures are of other rows than ours, which are of dev: do not compare them one to one"


def captions(shown: Iterable[PublishedFigure]) -> Iterator[str]:
    """Yield where published figures come from, and whether they can be compared with figures on dev."""
    groups: dict[tuple[str, str], list[PublishedFigure]] = {}
    kinds = set[str]()
    for figure in shown:
        groups.setdefault((figure.row.source, figure.row.notes), []).append(figure)
        kinds.add(figure.measures.kind)
    if "test" in kinds:
        yield TEST_CAPTION
    for (source, notes), figures in groups.items():
        systems = ", ".join(dict.fromkeys(figure.row.name for figure in figures))
        splits = " and ".join(sorted({figure.measures.kind for figure in figures}))  # dev, test
        details = f"; {notes}" if notes else ""
        yield f"published: {systems} ({splits}): {source}{details}"
