"""Simulates studies of several systems, all pairs of which are tested, and counts false verdicts.

    python benchmarks/statistics_verdict.py            # 2,000 studies a cell: a table of docs/proofs/statistics.md
    python benchmarks/statistics_verdict.py --studies 100 --only f1 --shapes 3x4

Studies are those of statistics_simulation.py with more systems and columns: rows are hard for every system or for one,
and each restart has a quality of its own where there are several. Where rows come in clusters, half of what makes them
hard is common to a cluster. The cells say how many of 100 studies

- have a false mark: a clear difference between two equally good systems, or one in the wrong direction,
- leave out a best system from those that are best or tied for best in a column,
- have an interval of ranks that misses a true rank; equally good systems have several.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from statistics_designs import difficulty
from statistics_simulation import BACKBONE, KINDS, NOISE, ROW, ROWS, STUDIES, Kind, true_score

from benchrunner.studies.entries import Ranks
from benchrunner_statistics.differences import corrected_differences
from benchrunner_statistics.paired_tests import Side
from benchrunner_statistics.ranks import ranks
from benchrunner_statistics.scored_answers import ScoredAnswers

CLUSTERS = np.arange(ROWS) // 10
"""The cluster of each row, where rows come in clusters: 30 of 10."""
SHAPES = ("2x8", "3x4", "10x1", "10x8")
"""Numbers of systems and columns."""
GAINS = np.linspace(0, 1.2, 13)
"""Qualities whose scores are estimated, to find those that are better by some points."""


@dataclass(frozen=True)
class Truth:
    """How much better than the first system each other one is, in points."""

    name: str
    better: float = 0.0
    """How much better the second half of the systems is."""
    step: float = 0.0
    """How much better each system is than the one before it."""
    has_copy: bool = False
    """Whether the last system gives the answers of the first."""

    def points(self, systems: int) -> list[float]:
        """Return the true points of each system, in every column."""
        half = systems - systems // 2
        return [self.step * system + self.better * (system >= half) for system in range(systems)]


EQUAL, COPY = Truth("all equal"), Truth("all equal, two with equal answers", has_copy=True)
TIES = Truth("half better by 0.5 points", 0.5), Truth("half better by 1 point", 1.0)
FAR, STEPS = Truth("half better by 10 points", 10.0), Truth("each better by 1 point", step=1.0)


@dataclass(frozen=True)
class Design:
    """What a row of the table simulates."""

    metric: str
    restarts: tuple[int, ...]
    """Numbers of restarts of the systems, in turn."""
    truth: Truth
    in_clusters: bool = False

    @property
    def kind(self) -> Kind:
        """The kind of task."""
        return next(kind for kind in KINDS if kind.metric.name == self.metric)

    def fits(self, systems: int, columns: int) -> bool:
        """Whether the design is simulated for so many systems and columns; only a part is for 360 tests."""
        is_common = self.metric == "accuracy" and len(self.restarts) == 1 and self.truth in (EQUAL, STEPS)
        return systems * columns < 80 or (is_common and not self.in_clusters)

    def __str__(self) -> str:
        restarts = " and ".join(map(str, self.restarts))
        fits = "single fits" if restarts == "1" else f"{restarts} restarts"
        return ", ".join([self.metric, fits, *["30 clusters"] * self.in_clusters, self.truth.name])


DESIGNS = (
    *(Design("accuracy", (1,), truth) for truth in (EQUAL, COPY, *TIES, FAR, STEPS)),
    *(Design("accuracy", (3,), truth) for truth in (EQUAL, *TIES, FAR, STEPS)),
    *(Design("accuracy", (2, 5), truth) for truth in (EQUAL, STEPS)),
    *(Design("accuracy", restarts, EQUAL, in_clusters=True) for restarts in ((1,), (3,))),
    *(Design(metric, (1,), truth) for metric in ("f1", "span_f1") for truth in (EQUAL, STEPS)),
    *(Design(metric, (3,), truth) for metric in ("f1", "span_f1") for truth in (EQUAL, STEPS)),
    *(Design(metric, (restarts,), EQUAL, in_clusters=True) for metric in ("f1", "span_f1") for restarts in (1, 3)),
)
Name = tuple[int, int]
"""A system and a column."""


@cache
def gain(kind: Kind, points: float) -> float:
    """Estimate how much higher the quality of a system is that is better by some points."""
    scores = []
    for more in GAINS:
        better = Kind(kind.metric, kind.gold, kind.answers, kind.quality + more, kind.seed_effect, kind.gain)
        scores.append(100 * true_score(better, np.random.default_rng(0), rows=60_000))
    return float(np.interp(scores[0] + points, scores, GAINS))


def scored(kind: Kind, gold: np.ndarray, answers: np.ndarray, clusters: np.ndarray | None) -> ScoredAnswers:
    """Score simulated answers; what the metric sums is computed for all rows at once, and not anew for each."""
    if kind.metric.name == "span_f1":
        answers = answers.round(1).clip(0, 1)
        values = [answers, np.ones(ROWS)]
    elif kind.metric.name == "f1":
        values = [gold * answers, gold, answers]
    else:
        values = [gold == answers, np.ones(ROWS)]
    fit = ScoredAnswers(kind.metric, gold.tolist(), answers.tolist(), clusters)
    row_values = np.stack(values, axis=1).astype(float)
    assert fit.row_sums is not None
    (score,) = fit.row_sums.scores(row_values.sum(axis=0, keepdims=True)).tolist()
    vars(fit).update(row_values=row_values, score=score)  # these properties are computed only if they are not there
    return fit


def sides(design: Design, qualities: Sequence[float], columns: int, number: int) -> Iterator[tuple[Name, Side]]:
    """Draw the answers of all systems to the rows of every column."""
    draw = np.random.default_rng([number, len(qualities), columns, *design.restarts, *design.metric.encode()])
    kind = design.kind
    clusters = CLUSTERS if design.in_clusters else None
    units = CLUSTERS if design.in_clusters else np.arange(ROWS)
    effect = 0.0 if design.restarts == (1,) else kind.seed_effect
    for column in range(columns):
        gold = kind.gold(draw)
        hardness = difficulty(ROW, units, draw)
        first = None
        for system, quality in enumerate(qualities):
            restarts = design.restarts[system % len(design.restarts)]
            of_rows = hardness + difficulty(BACKBONE, units, draw) + draw.normal(0, NOISE, (restarts, ROWS))
            seeds = draw.normal(quality, effect, (restarts, 1))
            answers = kind.answers(gold, seeds, of_rows)
            side = Side.of_restarts(scored(kind, gold, restart, clusters) for restart in answers)
            first = first or side
            is_copy = design.truth.has_copy and system == len(qualities) - 1
            yield (system, column), first if is_copy else side


@dataclass
class Counts:
    """How many studies of a cell have which fault."""

    studies: int = 0
    false_marks: int = 0
    false_groups: int = 0
    false_ranks: int = 0

    def __str__(self) -> str:
        shares = (100 * count / self.studies for count in (self.false_marks, self.false_groups, self.false_ranks))
        return " / ".join(f"{share:.1f}" for share in shares)

    def add(self, points: Sequence[float], columns: int, clear: set[tuple[Name, Name]]) -> None:
        """Compare the clear pairs of a study, the better system first, with the truth."""
        self.studies += 1
        self.false_marks += any(points[better] <= points[worse] for (better, _), (worse, _) in clear)
        is_group_false = False
        is_rank_false = False
        for column in range(columns):
            names = [(system, column) for system in range(len(points))]
            found = ranks(names, {pair for pair in clear if pair[0][1] == column})
            for name in names:
                rank = found[name]
                true = _true_ranks(points, name[0])
                is_group_false |= true.is_best and not rank.is_best
                is_rank_false |= rank.low > true.low or rank.high < true.high
        self.false_groups += is_group_false
        self.false_ranks += is_rank_false


def _true_ranks(points: Sequence[float], system: int) -> Ranks:
    """Return the ranks of a system by its true points, with those that equally good systems share."""
    better = sum(other > points[system] for other in points)
    worse = sum(other < points[system] for other in points)
    return Ranks(1 + better, len(points) - worse)


def false_verdicts(design: Design, systems: int, columns: int, count: int) -> Counts:
    """Count the faults of simulated studies."""
    points = design.truth.points(systems)
    qualities = [design.kind.quality + gain(design.kind, more) for more in points]
    pairs = []
    for column in range(columns):
        for system in range(systems):
            pairs += [((system, column), (other, column)) for other in range(system)]
    counts = Counts()
    for number in range(count):
        tests, _ = corrected_differences(dict(sides(design, qualities, columns, number)), pairs)
        clear = set()
        for (ours, theirs), test in tests.items():
            if test.is_clear:
                clear.add((ours, theirs) if test.comparison.difference > 0 else (theirs, ours))
        counts.add(points, columns, clear)
    return counts


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=STUDIES, help="simulated studies of each cell")
    parser.add_argument("--shapes", nargs="+", default=SHAPES, help="numbers of systems and columns, such as 3x4")
    parser.add_argument("--only", default="", help="only rows whose names contain this text")
    arguments = parser.parse_args()
    print(f"{arguments.studies:,} studies a cell: false marks / best systems left out / false ranks, in percent\n")
    print("| systems x columns |", " | ".join(arguments.shapes), "|\n| --- |", " ---: |" * len(arguments.shapes))
    for design in DESIGNS:
        if arguments.only not in str(design):
            continue
        print(f"| {design} |", end="")
        for shape in arguments.shapes:
            systems, columns = map(int, shape.split("x"))
            is_asked = design.fits(systems, columns)
            cell = false_verdicts(design, systems, columns, arguments.studies) if is_asked else ""
            print(f" {cell} |", end="", flush=True)
        print()


if __name__ == "__main__":
    main()
