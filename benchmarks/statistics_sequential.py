"""Simulates studies that add restarts until differences are clear, and counts false marks, true marks and fits.

    python benchmarks/statistics_sequential.py           # 2,000 studies a cell: tables of docs/proofs/statistics.md
    python benchmarks/statistics_sequential.py --studies 200 --only 3x1

A study has up to 12 restarts of each system, and looks after 3, 6 and 12 of them. All pairs of systems are tested in
all columns of 300 rows. After a look, the systems of a column that are in a pair without a clear difference get more
restarts. The same draws are judged by several ways to share the level of 5 % between the looks; "looks at 5 % each" is
what happens without a correction, and "12 at once" is a study without looks. Each cell says in how many of 100 studies
a difference is marked that is not there (or has the wrong direction), which share of the true differences is marked,
and which share of the fits of "12 at once" is saved.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchrunner import ACCURACY
from benchrunner_statistics.corrections import over_looks
from benchrunner_statistics.paired_tests import Side, compare_sides
from benchrunner_statistics.scored_answers import ScoredAnswers

ROWS, STUDIES, LEVEL = 300, 2_000, 0.05
LOOKS = (3, 6, 12)
SHARES = {
    "12 at once": (0.0, 0.0, 1.0),
    "looks at 5 % each": (1.0, 1.0, 1.0),
    "equal": (1 / 3, 1 / 3, 1 / 3),
    "like the restarts": (0.25, 0.25, 0.5),
    "Pocock's function": (0.357, 0.263, 0.380),
    "squares": (0.0625, 0.1875, 0.75),
    "O'Brien and Fleming's function": (0.0018, 0.1095, 0.8887),
}
"""Way to share the level -> the part of each look."""
SHAPES = {"2x1": (2, 1), "2x4": (2, 4), "3x1": (3, 1), "3x4": (3, 4)}
"""Name of a table -> systems and columns."""
EFFECTS = {"no seed effect": 0.0, "seed effect": 0.06, "large seed effect": 0.18}
"""Deviation of the quality between restarts: 0.06 is about 1.3 points of accuracy, 0.18 about 4."""
GAINS = {"no": 0.0, "small": 0.15, "medium": 0.3, "large": 0.6}
"""By how much the last system is better than the others: 0.6 is about 11 points of accuracy."""
Name = tuple[int, int]
"""A system and a column."""
Pair = tuple[Name, Name]


@dataclass(frozen=True)
class Tested:
    """The p-value of a pair at a look, and whether the difference is in the right direction."""

    p: float
    is_true: bool


@dataclass
class Counts:
    """What happened in the studies of a cell."""

    studies: int = 0
    false_marks: int = 0
    true_marks: int = 0
    true_differences: int = 0
    fits: int = 0
    most_fits: int = 0

    def __str__(self) -> str:
        found = f"{100 * self.true_marks / self.true_differences:.1f}" if self.true_differences else "-"
        saved = 100 * (1 - self.fits / self.most_fits)
        return f"{100 * self.false_marks / self.studies:.1f} / {found} / {saved:.0f}"


def every_test(shape: tuple[int, int], effect: float, gain: float, number: int) -> list[dict[Pair, Tested]]:
    """Draw a study with all restarts, and test all pairs at each look."""
    systems, columns = shape
    draw = np.random.default_rng([number, systems, columns, round(100 * effect), round(100 * gain)])
    looks: list[dict[Pair, Tested]] = [{} for _ in LOOKS]
    for column in range(columns):
        hard = draw.normal(0, 1, ROWS)
        restarts = []
        for system in range(systems):
            own = hard + draw.normal(0, 0.5, ROWS)
            quality = 1 + gain * (system == systems - 1)
            seeds = draw.normal(quality, effect, (LOOKS[-1], 1))
            right = seeds + own + draw.normal(0, 0.6, (LOOKS[-1], ROWS)) > 0
            restarts.append([ScoredAnswers(ACCURACY, [1] * ROWS, answers) for answers in right.astype(int).tolist()])
        for look, count in enumerate(LOOKS):
            sides = [Side.of_restarts(of_system[:count]) for of_system in restarts]
            for other, system in itertools.combinations(range(systems), 2):
                test = compare_sides(sides[system], sides[other])
                is_true = gain > 0 and system == systems - 1 and test.difference > 0
                looks[look][(system, column), (other, column)] = Tested(test.p, is_true)
    return looks


def judge(looks: Sequence[Mapping[Pair, Tested]], shares: Sequence[float], counts: Counts) -> None:
    """Add restarts until differences are clear, with the tests that each look would have, and count what happened."""
    planned = [look for look, share in enumerate(shares) if share]
    made: list[dict[Pair, float]] = [{} for _ in planned]
    unclear = set(looks[0])
    before = 0
    for number, look in enumerate(planned):
        made[number] = {pair: looks[look][pair].p for pair in unclear}
        counts.fits += len({name for pair in unclear for name in pair}) * (LOOKS[look] - before)
        before = LOOKS[look]
        adjusted = over_looks(made, [shares[look] for look in planned], LEVEL)
        unclear = {pair for pair, (_, p) in adjusted.items() if p >= LEVEL}
    counts.studies += 1
    counts.most_fits += len({name for pair in looks[0] for name in pair}) * LOOKS[-1]
    marked = [looks[planned[number]][pair] for pair, (number, p) in adjusted.items() if p < LEVEL]
    counts.false_marks += not all(test.is_true for test in marked)
    counts.true_marks += sum(test.is_true for test in marked)


def print_table(name: str, count: int) -> None:
    """Print the table of some systems and columns, with a line for each truth and a column for each way to share."""
    shape = SHAPES[name]
    print(f"\n| {shape[0]} systems x {shape[1]} columns |", " | ".join(SHARES), "|")
    print("| --- |", " ---: |" * len(SHARES), flush=True)
    for title, effect, gain in designs():
        cells = {way: Counts() for way in SHARES}
        for number in range(count):
            looks = every_test(shape, effect, gain, number)
            for way, shares in SHARES.items():
                judge(looks, shares, cells[way])
        for counts in cells.values():
            counts.true_differences = (shape[0] - 1) * shape[1] * count if gain else 0
        print(f"| {title} |", " | ".join(map(str, cells.values())), "|", flush=True)


def designs() -> Iterator[tuple[str, float, float]]:
    """Yield what the lines of a table simulate: a title, the deviation of seeds, and the gain of the better system."""
    for size, gain in GAINS.items():
        for effect_name, effect in EFFECTS.items():
            yield f"{size} difference, {effect_name}", effect, gain


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=STUDIES, help="simulated studies of each cell")
    parser.add_argument("--only", choices=SHAPES, nargs="+", default=list(SHAPES), help="only these tables")
    arguments = parser.parse_args()
    print(f"{arguments.studies:,} studies a cell: false marks / true differences marked / fits saved, in percent")
    for name in arguments.only:
        print_table(name, arguments.studies)


if __name__ == "__main__":
    main()
