"""Notes on the statistics of a study: few clusters, unequal budgets, looks, and intervals that are absent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchrunner.results import Result, cells, comparison, pairs, planning, study
from benchrunner_statistics.conclusions import detectable, seen_from


def study_notes(
    few_clusters: Sequence[tuple[str, str]], absent: Mapping[study.Place, str], result: Result
) -> Iterator[str]:
    """Yield what a reader of the intervals and tests must know.

    `few_clusters` has what is said of the rows of columns, where these are of few clusters; `absent` says why a figure
    has no interval, or no test.
    """
    for said, columns in comparison.grouped(few_clusters).items():
        yield f"{', '.join(columns)}: {said}"
    yield from _budgets(result)
    if result.study.looks:
        yield from _looks(result)
    without = ((reason, f"{system} on {column}") for (system, column), reason in absent.items())
    for reason, places in comparison.grouped(without).items():
        more = f" and {len(places) - 2} more" if len(places) > 2 else ""
        yield f"no interval for {', '.join(places[:2])}{more}: {reason}"


def _looks(result: Result) -> Iterator[str]:
    """Yield that restarts were added until clear, and where that is not reached."""
    yield f"{result.cells[-1].cell.fitting.looks_note}; a clear difference is that of the look that showed it"
    unclear = dict[str, list[pairs.Pair]]()
    for pairing, test in result.statistics.tests.items():
        if not test.is_clear:
            unclear.setdefault(pairing.column, []).append(test)
    seen = [f"{column} ({seen_from(detectable(tests))})" for column, tests in unclear.items()]
    if seen:
        yield f"still not clear: {', '.join(seen)}"
    waiting = planning.unclear_cells(result)
    if waiting:
        yield f"with a larger budget, or none, the same command adds restarts to {', '.join(waiting)}"


def _budgets(result: Result) -> Iterator[str]:
    """Say what was tried and trained for each system, where grid points may be left out or systems differ in this.

    Fits of several methods are not compared by their number and epochs, nor are restarts that are added until clear.
    """
    for column in result.study.columns:
        of_column = dict[str, cells.Cell]()
        for name in result.study.names if column.is_tested else ():
            if (name, column.name) in result.cell_at:
                of_column[name] = result.cell_at[name, column.name].cell
        methods = {fit.method for cell in of_column.values() for fit in cell.fits}
        by_points = len(methods) > 1 or result.study.looks or not _train(methods, result)
        ways = dict[str, None]()
        budgets = {}
        for name, cell in of_column.items():
            search, points, epochs = cell.fitting.search, len(cell.candidates), planning.fit_epochs(cell)
            if search and points > 1:
                ways[search.by] = None
            trained = "" if by_points else f", {len(epochs)} fits, {sum(epochs.values()):g} epochs"
            budgets[name] = f"{points} grid point{'s' * (points > 1)}{trained}"
        is_equal = len(set(budgets.values())) < 2
        if is_equal and not ways:
            continue
        chosen_by = f"{', '.join(ways)} chose which grid points are trained; " if ways else ""
        listed = "; ".join(f"{name} {budget}" for name, budget in budgets.items())
        said = f"{chosen_by}{'trained were' if is_equal else 'the systems had different budgets'}: {listed}"
        yield f"{column.title}: {said}{_favour(result, column, of_column, is_sample=not ways)}"


def _train(methods: Iterable[str], result: Result) -> bool:
    """Return whether one of some methods trains in steps, which a study counts as epochs."""
    runner = result.cells[0].runner if result.cells else None
    return runner is None or any(runner.plugins.methods.find(name).trains_in_steps for name in methods)


def _favour(result: Result, column: study.Column, of_column: Mapping[str, cells.Cell], *, is_sample: bool) -> str:
    """Say whom the choice on dev favours, and what to expect of equal numbers of grid points; nothing if of none.

    What a search chose is no sample.
    """
    numbers = {len(cell.candidates) for cell in of_column.values()}
    if len(numbers) < 2:
        return ""
    least = min(numbers)
    said = "; the choice on dev favours the system with more grid points, by chance alone"
    expected = []
    for name in of_column:
        entry = result.entries[name, column.name]
        best = (entry.expected or ())[least - 1 : least]
        expected += [f"{name} {entry.figure.text(value)}" for value in best]
    if not is_sample or len(expected) < len(of_column):
        return said
    return f"{said}; to be expected of {least} grid point{'s' * (least > 1)}: {', '.join(expected)}"
