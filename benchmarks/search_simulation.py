"""Simulates searches of grids whose best point is known, and comparisons of systems that searched differently.

    python benchmarks/search_simulation.py               # 1,000 searches a cell: the tables of docs/proofs/search.md
    python benchmarks/search_simulation.py --searches 50 --only searches

Nothing is trained. Each search has a landscape of its own: the best learning rate and number of epochs are drawn, and
scores fall off with the square of the distance from them, on a logarithmic scale. Larger batches and shorter trainings
want higher rates, and a rate that is much too high often ends at the score of the majority answer. A restart adds
noise. Searches see means over two restarts. A random search draws grid points until it has spent as many epochs as the
search beside it.

The table `stars` says how often a study marks a difference between two equally good systems, of which the first chooses
among 18 grid points: the simulated fits are those of statistics_designs.py, with as many rows as the dev set of RTE.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from statistics_designs import CHOICES, KINDS_HERE, chosen, print_table

from benchrunner import Recipe
from benchrunner.results import Grid, Search, discover

SEARCHES = 1_000
GRID = Grid(
    {
        "lr": (5e-6, 1e-5, 2e-5, 4e-5, 8e-5, 1.6e-4),
        "batch_size": (16, 32),
        "epochs": (1, 3, 9),
    }
)
"""36 grid points in 12 lines, of which each is one training of 9 epochs if longer fits go on from shorter ones."""
RESTARTS = 2
NOISE = {"0.5 points": 0.5, "1.5 points": 1.5}
"""Deviation of the score between seeds: about as on SST-2 or MNLI, and as on RTE or CoLA."""
PEAK, MAJORITY = 70.0, 53.0
"""Scores of the best possible fit and of the majority answer, in points."""
STEEP_RATE, STEEP_LENGTH = (0.5, 2.0), (0.5, 2.0)
"""Points lost by a rate or a number of epochs that is wrong by a factor of 2: drawn between these."""
TOO_HIGH = 2.0
"""Doublings above the best rate from which some fits collapse: half of them at one more."""
TRIED = (("halving", None), ("tpe", 8), ("tpe", 16), ("gp", 8), ("gp", 16))
"""Searches, with the number of grid points that they try."""
GP_SHARE = 20
"""One of this number of searches is made by the Gaussian process, which is slow."""
DEV_ROWS = 277
"""Rows of the dev set of RTE."""


@dataclass(frozen=True)
class Landscape:
    """The true scores of grid points, of which some fits may collapse."""

    rate: float
    """Logarithm (base 2) of the best rate at batch size 16 and 3 epochs."""
    length: float
    """Logarithm of the best number of epochs."""
    steep_rate: float
    steep_length: float

    @classmethod
    def drawn(cls, draw: np.random.Generator) -> Landscape:
        """Draw a landscape whose best point is somewhere in the grid."""
        rates = np.log2(GRID.choices["lr"])
        rate, length = draw.uniform(rates[0], rates[-1]), draw.uniform(0, np.log2(9))
        return cls(rate, length, draw.uniform(*STEEP_RATE), draw.uniform(*STEEP_LENGTH))

    def above(self, point: Recipe) -> float:
        """Return how many doublings the rate of a point is above the best one for its batch size and length."""
        best = self.rate + 0.5 * np.log2(point.batch_size / 16) - 0.3 * np.log2(point.epochs / 3)
        return float(np.log2(point.lr) - best)

    def collapses(self, point: Recipe) -> float:
        """Return the share of a point's fits that end at the majority answer."""
        return float(np.clip((self.above(point) - TOO_HIGH) / 2, 0, 1))

    def good(self, point: Recipe) -> float:
        """Return the mean score of fits that do not collapse."""
        off = self.steep_rate * self.above(point) ** 2
        off += self.steep_length * (np.log2(point.epochs) - self.length) ** 2
        return float(max(MAJORITY, PEAK - off))

    def mean(self, point: Recipe) -> float:
        """Return the mean score of a point over all seeds."""
        share = self.collapses(point)
        return share * MAJORITY + (1 - share) * self.good(point)

    def seen(self, point: Recipe, noise: float, draw: np.random.Generator) -> float:
        """Return the mean score of a point over some restarts."""
        restarts = []
        for _ in range(RESTARTS):
            is_lost = draw.random() < self.collapses(point)
            restarts.append(MAJORITY if is_lost else self.good(point) + draw.normal(0, noise))
        return float(np.mean(restarts))


POINTS = tuple(GRID.points(Recipe()))
WHOLE = len(POINTS) // len(GRID.choices["epochs"]) * max(GRID.choices["epochs"])
"""Epochs of one restart of the whole grid, if longer fits go on from shorter ones."""


def epochs_of(points: Iterable[Recipe], *, goes_on: bool) -> int:
    """Count the epochs of one restart of some points; fits go on from shorter ones, or not."""
    if not goes_on:
        return sum(point.epochs for point in points)
    longest = dict[Recipe, int]()
    for point in points:
        line = point.changed(epochs=1)
        longest[line] = max(longest.get(line, 0), point.epochs)
    return sum(longest.values())


def searched(search: Search, trials: int | None, seen: Mapping[Recipe, float]) -> list[Recipe]:
    """Return the points that a search tries, where `seen` are the scores that it would see."""
    scores = dict[Recipe, float]()
    while batch := search.next_points(POINTS, scores)[: None if trials is None else trials - len(scores)]:
        scores |= {point: seen[point] for point in batch}
    return list(scores)


def drawn_until(epochs: int, draw: np.random.Generator) -> list[Recipe]:
    """Return random points that cost at most so many epochs, each trained alone; at least one."""
    points = list[Recipe]()
    for number in draw.permutation(len(POINTS)):
        point = POINTS[number]
        if not points or epochs_of([*points, point], goes_on=False) <= epochs:
            points.append(point)
    return points


@dataclass
class Tally:
    """What a way to search found so far."""

    best: int = 0
    near: int = 0
    lost: float = 0.0
    epochs: float = 0.0
    count: int = 0

    def add(
        self, points: Sequence[Recipe], epochs: int, land: Landscape, seen: Mapping[Recipe, float], noise: float
    ) -> None:
        """Add a search that tried some points and chose the one that looked best."""
        chosen_point = max(points, key=seen.__getitem__)
        lost = max(map(land.mean, POINTS)) - land.mean(chosen_point)
        self.best += lost == 0
        self.near += lost <= noise
        self.lost += lost
        self.epochs += epochs
        self.count += 1

    def row(self, name: str) -> str:
        """Return a row of the table."""
        shares = f"{self.best / self.count:.0%} | {self.near / self.count:.0%} | {self.lost / self.count:.1f}"
        return f"| {name} | {self.epochs / self.count / WHOLE:.0%} | {shares} |"


def tallied(noise: float, numbers: Iterable[int]) -> dict[str, Tally]:
    """Tally what each search finds, and the random search beside it, on the landscapes of these numbers."""
    searches = discover().searches
    tallies = {"the whole grid": Tally()}
    for number in numbers:
        draw = np.random.default_rng([number, round(10 * noise)])
        land = Landscape.drawn(draw)
        seen = {point: land.seen(point, noise, draw) for point in POINTS}
        tallies["the whole grid"].add(POINTS, WHOLE, land, seen, noise)
        for search, trials in TRIED:
            if search == "gp" and number % GP_SHARE:
                continue
            name = search if trials is None else f"{search}, {trials} trials"
            points = searched(searches.find(search), trials, seen)
            epochs = epochs_of(points, goes_on=trials is None)
            tallies.setdefault(name, Tally()).add(points, epochs, land, seen, noise)
            rival = drawn_until(epochs, draw)
            beside = tallies.setdefault(f"random, as many epochs as {name}", Tally())
            beside.add(rival, epochs_of(rival, goes_on=False), land, seen, noise)
    return tallies


def print_stars(count: int) -> None:
    """Print how often two equally good systems seem to differ, by what they choose among."""
    designs = [CHOICES[0], CHOICES[-1]]
    print_table(
        f"False stars of {DEV_ROWS} rows, in percent (mean difference in points)", [name for name, *_ in designs]
    )
    for points in ((18, 1), (18, 18), (1, 1)):
        print(f"| {points[0]} and {points[1]} |", end="")
        for _, restarts, seeds in designs:
            found = chosen(KINDS_HERE[0], points, restarts, seeds=seeds, count=count, rows=DEV_ROWS)
            print(f" {found} |", end="", flush=True)
        print()


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=SEARCHES, help="simulated searches of each cell")
    parser.add_argument("--only", choices=("searches", "stars"), help="only this table")
    arguments = parser.parse_args()
    if arguments.only != "stars":
        heads = ("epochs of the whole grid's", "the best point", "within one deviation", "points lost")
        for name, noise in NOISE.items():
            print_table(f"Noise of {name} between seeds", heads)
            for way, tally in tallied(noise, range(arguments.searches)).items():
                print(tally.row(way), flush=True)
    if arguments.only != "searches":
        print_stars(arguments.searches)


if __name__ == "__main__":
    main()
