"""Simulates studies of several systems, all pairs of which are tested, and counts false verdicts.

    python benchmarks/statistics_verdict.py            # 2,000 studies a cell: a table of docs/statistics.md
    python benchmarks/statistics_verdict.py --studies 100 --systems 3 --columns 4

Rows are hard for every system or for one; each restart has a quality of its own where there are several. The truth is
one of three: all systems are equally good; half of them are better; all are equally good, and the last one gives the
answers of the first. The cells say how many of 100 studies

- have a false mark: a clear difference between two equally good systems, or one in the wrong direction,
- leave out a best system from those that are best or tied for best in a column,
- have intervals of ranks that contain the true ranks of all systems in all columns; equally good systems have several.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchrunner import ACCURACY
from benchrunner.statistics.paired_test import Side
from benchrunner.statistics.ranks import Ranks, ranks
from benchrunner.statistics.scored_answers import ScoredAnswers
from benchrunner.studies.significance.differences import corrected_differences

ROWS, STUDIES = 300, 2_000
SYSTEMS, COLUMNS = (2, 3, 5, 10), (1, 4, 8)
RESTARTS = (1, 3)
SEED_EFFECT = 0.06
"""Deviation of the quality between restarts, about 1.3 points of accuracy; 0 for single fits, of which tests speak."""
TRUTHS = {"all equal": 0.0, "half better": 0.6, "equal, two with equal answers": 0.0}
"""Name of a truth -> by how much the second half of the systems is better: 0.6 is about 11 points."""
Name = tuple[int, int]
"""A system and a column."""


@dataclass(frozen=True)
class Design:
    """What a cell of the table simulates."""

    truth: str
    restarts: int
    systems: int
    columns: int

    @property
    def qualities(self) -> list[float]:
        """The true quality of each system, in every column."""
        better = self.systems // 2
        return [0.0] * (self.systems - better) + [TRUTHS[self.truth]] * better


@dataclass
class Counts:
    """How many studies of a cell have which fault."""

    studies: int = 0
    false_marks: int = 0
    false_groups: int = 0
    true_ranks: int = 0

    def __str__(self) -> str:
        shares = (100 * count / self.studies for count in (self.false_marks, self.false_groups, self.true_ranks))
        return " / ".join(f"{share:.1f}" for share in shares)


def sides(design: Design, draw: np.random.Generator) -> Iterator[tuple[Name, Side]]:
    """Draw the answers of all systems to the rows of every column."""
    effect = SEED_EFFECT if design.restarts > 1 else 0.0
    for column in range(design.columns):
        hard = draw.normal(0, 1, ROWS)
        first = None
        for system, quality in enumerate(design.qualities):
            own = draw.normal(0, 0.5, ROWS)
            seeds = draw.normal(1 + quality, effect, (design.restarts, 1))
            right = seeds + hard + own + draw.normal(0, 0.6, (design.restarts, ROWS)) > 0
            answers = right.astype(int).tolist()
            side = Side.of_restarts(ScoredAnswers(ACCURACY, [1] * ROWS, restart) for restart in answers)
            first = first or side
            is_copy = "equal answers" in design.truth and system == design.systems - 1
            yield (system, column), first if is_copy else side


def false_verdicts(design: Design, count: int) -> Counts:
    """Count the faults of simulated studies."""
    counts = Counts()
    pairs = []
    for column in range(design.columns):
        for system in range(design.systems):
            pairs += [((system, column), (other, column)) for other in range(system)]
    for number in range(count):
        tests, _ = corrected_differences(dict(sides(design, np.random.default_rng(number))), pairs)
        clear = set()
        for (ours, theirs), test in tests.items():
            if test.is_clear:
                clear.add((ours, theirs) if test.comparison.difference > 0 else (theirs, ours))
        _judge(design, clear, counts)
    return counts


def _judge(design: Design, clear: set[tuple[Name, Name]], counts: Counts) -> None:
    """Compare the clear pairs of a study, the better system first, with the truth."""
    true = design.qualities
    counts.studies += 1
    counts.false_marks += any(true[better] <= true[worse] for (better, _), (worse, _) in clear)
    is_group_false = False
    are_ranks_true = True
    for column in range(design.columns):
        names = [(system, column) for system in range(design.systems)]
        found = ranks(names, {pair for pair in clear if pair[0][1] == column})
        for name in names:
            rank = found[name]
            expected = _true_ranks(true, name[0])
            is_group_false |= expected.is_best and not rank.is_best
            are_ranks_true &= rank.low <= expected.low and rank.high >= expected.high
    counts.false_groups += is_group_false
    counts.true_ranks += are_ranks_true


def _true_ranks(true: list[float], system: int) -> Ranks:
    """Return the ranks of a system by its true quality, with those that equally good systems share."""
    better = sum(quality > true[system] for quality in true)
    worse = sum(quality < true[system] for quality in true)
    return Ranks(1 + better, len(true) - worse)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=STUDIES, help="simulated studies of each cell")
    parser.add_argument("--systems", type=int, nargs="+", default=SYSTEMS, help="numbers of systems")
    parser.add_argument("--columns", type=int, nargs="+", default=COLUMNS, help="numbers of columns")
    arguments = parser.parse_args()
    shapes = [(systems, columns) for systems in arguments.systems for columns in arguments.columns]
    print(f"{arguments.studies:,} studies a cell: false marks / best systems left out / true ranks, in percent\n")
    print("| systems x columns |", " | ".join(f"{systems} x {columns}" for systems, columns in shapes), "|")
    print("| --- |", " ---: |" * len(shapes))
    for truth in TRUTHS:
        for restarts in RESTARTS:
            print(f"| {truth}, {restarts} restart{'s' * (restarts > 1)} |", end="")
            for systems, columns in shapes:
                design = Design(truth, restarts, systems, columns)
                print(f" {false_verdicts(design, arguments.studies)} |", end="", flush=True)
            print()


if __name__ == "__main__":
    main()
