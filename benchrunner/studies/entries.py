"""Entries and pairs of a result: a figure at its place with what is known of it, and the comparison of two figures.

All formats are views of these: none computes on its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, final

from benchrunner.metrics import Score
from benchrunner.studies.cells import NO_SCORE, CellResult, Figure
from benchrunner.studies.codes import code_of
from benchrunner.studies.intervals import Interval
from benchrunner.studies.pairs import Pair, Pairing
from benchrunner.studies.study import Place
from benchrunner.tasks.task import Term

Standing = Literal["best", "tied", "better", "worse", "mixed", ""]
"""What tests say of a figure: all others are clearly behind, or not clearly worse than any; with contrasts, clearly
better or worse than what it is compared with, or better than one and worse than another."""
CLEAR, TIED = "*", "="
"""Marks of a clear difference or of the best figure, and of figures that are tied for best. Those of single fits stand
in parentheses."""
NO_TERM = Term("", "", "")
"""Stands for the metric of a figure that is no score of single fits."""


@final
@dataclass(frozen=True)
class Ranks:
    """The ranks that a system may have in a column; 1 is the best. The intervals of all systems hold together."""

    low: int
    """One more than the number of systems that are clearly better."""
    high: int
    """The number of systems, less those that are clearly worse."""

    @property
    def is_best(self) -> bool:
        """Whether no system is clearly better: the system is the best, or tied with others for the best."""
        return self.low == 1


@final
@dataclass(frozen=True)
class MeanRank:
    """The mean rank of a system over several columns, with an interval that holds together with those of all others."""

    mean: float
    """Mean of the ranks by the measured scores; equal scores share the mean of their ranks."""
    low: float
    """Mean of the lower ends of the ranks' intervals."""
    high: float
    """Mean of the upper ends."""
    is_best: bool
    """Whether no other system's interval lies below: the system may have the lowest mean rank."""


def _nothing(result: Any, shown: int = 0) -> list[Any]:
    return []


@final
@dataclass(frozen=True)
class Statistics:
    """Statistics of a study, by system and column. All of them use every restart at the chosen grid point."""

    intervals: Mapping[Place, Interval] = field(default_factory=dict)
    """Interval of the mean score over other examples, for these restarts; on the scale of the metric's values."""
    tests: Mapping[Pairing, Pair] = field(default_factory=dict)
    """Tests of the study's contrasts; without any, of all pairs of arms, or of systems, with figures in a column.
    Systems that belong to arms are tested only where a contrast names them."""
    family: int = 0
    """The number of different tests over which p-values are corrected, not those of equal answers."""
    ranks: Mapping[str, Mapping[str, Ranks]] = field(default_factory=dict)
    """Column -> system or arm -> its ranks, in columns in which all pairs are compared."""
    mean_ranks: Mapping[str, MeanRank] = field(default_factory=dict)
    """The mean rank of each system or arm over the tested columns in which all that are ranked have figures."""
    trials: Mapping[Place, Sequence[float]] = field(default_factory=dict)
    """The best score to expect of 1, 2, ... trials, which are grid points with the mean over their finished fits."""
    caveats: tuple[str, ...] = ()
    """Where other seeds may reverse what the tests say."""
    say: Callable[[Any, int], list[str]] = field(default=_nothing, repr=False, compare=False)
    """Says what the tests of a `Result` show, in sentences that name so many differences."""
    notes: Callable[[Any], Iterable[str]] = field(default=_nothing, repr=False, compare=False)
    """Says what a reader of the intervals and tests of a `Result` must know."""
    series: Callable[[Any], Iterable[Mapping[str, Any]]] = field(default=_nothing, repr=False, compare=False)
    """Returns the lines of a `Result` that is a figure, each with lists of places and figures that a plot can draw."""

    @cached_property
    def of_places(self) -> Mapping[Place, Mapping[str, Pair]]:
        """Figure -> the systems with which it is compared -> the difference of the figure from theirs."""
        differences = defaultdict[Place, dict[str, Pair]](dict)
        for pairing, pair in self.tests.items():
            ours, theirs = pairing.places
            differences[ours][pairing.other] = pair
            differences[theirs][pairing.system] = pair.reversed
        return differences

    @cached_property
    def is_ranking(self) -> bool:
        """Whether all pairs of three or more systems or arms are compared, so that figures are best or tied for best.

        Of two systems, and by contrasts, the first of a pair is better or worse.
        """
        return len(set[str]().union(*self.ranks.values())) > 2

    @cached_property
    def standings(self) -> Mapping[Place, Standing]:
        """How figures compare with those of the others by the tests, where these show something."""
        standings = dict[Place, Standing]()
        if self.is_ranking:
            for column, ranks in self.ranks.items():
                best = [name for name, rank in ranks.items() if rank.is_best]
                if len(best) < len(ranks):
                    for name in best:
                        standings[name, column] = "best" if len(best) == 1 else "tied"
            return standings
        for (system, _, column), pair in self.tests.items():
            if pair.is_clear:
                standing: Standing = "better" if pair.comparison.gain > 0 else "worse"
                is_same = standings.setdefault((system, column), standing) == standing
                standings[system, column] = standing if is_same else "mixed"
        return standings


@final
@dataclass(frozen=True)
class Entry:
    """A figure at its place, with everything that a format shows of it."""

    system: str
    column: str
    """Name of the column; empty for a figure that no column shows."""
    figure: Figure
    cell: CellResult | None = None
    """The cell with the fits behind the figure."""
    term: Term = NO_TERM
    majority: Score | None = None
    """Score of the majority answer."""
    interval: Interval | None = None
    """See `Statistics.intervals`."""
    ranks: Ranks | None = None
    expected: Sequence[float] | None = None
    """See `Statistics.trials`; None for a figure that nothing is tested of."""
    standing: Standing = ""
    """What the tests say of the figure; empty if they show nothing."""
    pairs: Mapping[str, Pair] = field(default_factory=dict)
    """System -> the difference of the figure from that of the system."""

    @property
    def mark(self) -> str:
        """The mark of what the tests say."""
        if not self.standing:
            return ""
        mark = TIED if self.standing == "tied" else CLEAR
        is_of_fits = any(pair.comparison.claim == "fits" for pair in self.pairs.values())
        return f"({mark})" if is_of_fits else mark

    @property
    def is_best(self) -> bool:
        """Whether the figure is best or tied for best."""
        return self.standing in ("best", "tied")

    @property
    def codes(self) -> list[str]:
        """The codes of the warnings about the figure."""
        texts = set(self.cell.warnings) if self.cell else set[str]()
        texts.discard(NO_SCORE)  # it may be the score of another metric
        if self.figure.mean.value is None:
            texts.add(NO_SCORE)
        return sorted(set(map(code_of, texts)))

    @property
    def texts(self) -> tuple[str, str, str]:
        """The parts that tables show: the mean with its deviation, the interval, the marks."""
        marks = " ".join([self.mark, *self.codes]).strip()
        return self.figure.mean_text, self.figure.interval_text(self.interval), marks

    def shown(self) -> dict[str, Any]:
        """Return the figure with its spread as JSON values, on the scale of tables."""
        figure = self.figure
        ends = None if self.interval is None else list(map(figure.shown, self.interval.as_json()))
        return {
            "mean": figure.shown(figure.mean.value),
            "deviation": figure.shown(figure.deviation),
            "restarts": list(map(figure.shown, figure.values)),
            "interval_over_examples": ends,
        }

    def row(self) -> dict[str, Any]:
        """Return the row of `Result.scores`: fractions, and the fits behind them."""
        figure, cell = self.figure, self.cell
        low, high = _ends(self.interval)
        restarts_low, restarts_high = _ends(figure.over_restarts)
        return {
            "system": self.system,
            "backbone": cell.cell.backbone if cell else "",
            "column": self.column,
            **vars(self.term),
            "score": figure.mean.value,
            "sd": figure.deviation,
            "low": low,
            "high": high,
            "restarts": len(figure.values),
            "mark": self.mark,
            "warnings": "; ".join(cell.warnings) if cell else "",
            "best_on_dev": figure.best.value,
            "restarts_low": restarts_low,
            "restarts_high": restarts_high,
            "values": list(figure.values),
            "majority": self.majority.value if self.majority else None,
            "lr": cell.chosen.lr if cell and cell.chosen else None,
            "run": cell.selected.id if cell and cell.selected else None,
            "unit": "",
        }


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    """Return the ends of an interval; None where there is none."""
    return (interval.low, interval.high) if interval else (None, None)
