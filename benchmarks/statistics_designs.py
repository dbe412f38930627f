"""Simulates studies whose rows come in clusters, or whose systems differ in numbers of restarts or of grid points.

    python benchmarks/statistics_designs.py            # 2,000 studies a cell: tables of docs/proofs/statistics.md
    python benchmarks/statistics_designs.py --studies 200 --only clusters

Studies are those of statistics_simulation.py, without a true difference. The rows of a cluster share a part of what
makes them hard: for every backbone, and for one backbone. Tables say how often `paired_test` finds a difference, with
and without the ids of the clusters, and how often the interval over examples contains the true score. The table
`margin` says how often two fits are called equivalent although their true difference is the margin; the tables of arms
say how often `arms_test` finds a difference between two arms of several pre-trainings each, and how often the test of
one pre-training of each finds it.

For grid points, all of which are equally good, tables say how often the choice of the best among 18 makes a difference
from a system with 1 point, and how large the mean difference is: chosen and tested on the same
rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from statistics_simulation import BACKBONE, KINDS, LEVEL, NOISE, ROW, ROWS, STUDIES, Kind, Rate, Study, backbone

from benchrunner_statistics import arms_test, example_interval, paired_test

KINDS_HERE = tuple(kind for kind in KINDS if kind.metric.name in ("accuracy", "f1", "span_f1"))
VARIANCE = ROW**2 + BACKBONE**2 + NOISE**2
"""Variance of a row's difficulty, without the effect of seeds."""
SHARED = 0.5
"""Share of the variance of a row's difficulty that the rows of a cluster have in common."""
LAYOUTS = {
    "4 of 75": [75] * 4,
    "4 of 30 to 140": [30, 50, 80, 140],
    "10 of 5 to 100": [5, 8, 10, 12, 20, 25, 30, 40, 50, 100],
    "30 of 10": [10] * 30,
    "60 of 5": [5] * 60,
    "1 of 100, 40 of 5": [100] + [5] * 40,
}
"""Name of a layout -> the sizes of its clusters, 300 rows together."""
POINTS = (1, 18)
"""Numbers of grid points among which the first backbone chooses; the second has one."""
CHOICES = (("1 restart", 1, False), ("3 restarts", 3, False), ("3, with a seed effect", 3, True))
"""Name of a column -> the restarts of each grid point, and whether seeds have an effect on their quality."""
UNEQUAL = ((3, 2), (3, 5), (3, 10), (5, 2), (10, 2))
"""Numbers of restarts of the two backbones."""
ONE_SIDED = ((0.03, 0.0), (0.05, 0.0), (0.1, 0.0), (0.06, 0.01), (0.1, 0.05))
"""Shares of rows that only the first fit, and only the second, answers rightly."""


SHARE_OF_COLLAPSES = 0.1
COLLAPSED_RESTARTS = ("3", "5", "10", "20")
ARMS = ((2, 2), (2, 3), (3, 2), (3, 3), (5, 2), (5, 3))
"""Numbers of pre-trainings of each arm, and of restarts of each pre-training."""
RESTART_EFFECT = 0.06
"""Deviation of the quality between restarts of a pre-training."""


@dataclass(frozen=True)
class Design:
    """The numbers of restarts of both backbones, the cluster of each row, and the deviation of seeds' qualities."""

    restarts: tuple[int, int]
    clusters: Sequence[int]
    seed_effects: tuple[float, float] = (0.0, 0.0)


Arm = list[list[list[float]]]
"""The answers of each pre-training's restarts."""


@dataclass(frozen=True)
class ArmDesign:
    """The numbers of pre-trainings of each arm and of restarts of each pre-training, and how much pre-trainings vary.

    `ratio` is the deviation of the quality between pre-trainings, in deviations between restarts.
    """

    pre_trainings: int
    restarts: int
    ratio: float


def difficulty(deviation: float, clusters: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Draw a part of the rows' difficulty, of which the rows of a cluster share a part."""
    shared = draw.normal(0, deviation * SHARED**0.5, clusters.max() + 1)[clusters]
    return np.asarray(shared + draw.normal(0, deviation * (1 - SHARED) ** 0.5, len(clusters)))


def studies(kind: Kind, design: Design, count: int) -> Iterator[Study]:
    """Draw studies of two backbones that are equally good over all rows and seeds."""
    ids = np.array(design.clusters)
    rows, clusters = len(ids), int(ids.max()) + 1
    for number in range(count):
        draw = np.random.default_rng([number, *design.restarts, clusters, *kind.metric.name.encode()])
        gold = kind.gold(draw)
        hardness = difficulty(ROW, ids, draw)
        answers = []
        for restarts, effect in zip(design.restarts, design.seed_effects, strict=True):
            of_rows = hardness + difficulty(BACKBONE, ids, draw) + draw.normal(0, NOISE, (restarts, rows))
            # seeds that vary more make the mean accuracy lower: the quality makes up for it
            quality = kind.quality * (1 + effect**2 / VARIANCE) ** 0.5 + draw.normal(0, effect, (restarts, 1))
            answers.append(kind.answers(gold, quality, of_rows).tolist())
        yield Study(gold.tolist(), *answers)


def rejections(kind: Kind, design: Design, *, count: int, given: bool = True) -> Rate:
    """Count the studies in which a difference is found; `given` says whether the test is given the clusters."""
    clusters = design.clusters if given else None
    hits = 0
    for study in studies(kind, design, count):
        hits += paired_test(kind.metric, study.gold, study.a, study.b, clusters=clusters, resamples=499).p < 0.05
    return Rate(hits, count)


def coverage(kind: Kind, design: Design, *, count: int, given: bool = True) -> Rate:
    """Count the studies whose interval contains the mean score of 4,000 other studies."""
    truth = float(np.mean([kind.metric.value(study.gold, study.a[0]) for study in studies(kind, design, 4_000)]))
    hits = 0
    for study in studies(kind, design, count):
        clusters = design.clusters if given else None
        interval = example_interval(kind.metric, study.gold, study.a, clusters=clusters)
        hits += interval.low <= truth <= interval.high
    return Rate(hits, count)


def false_equivalence(only: tuple[float, float], confidence: float, count: int) -> Rate:
    """Count the studies that call two fits equivalent within the margin that is their true difference."""
    hits = 0
    for number in range(count):
        part = np.random.default_rng(number).random(300)
        a = (part < only[0]) | (part > sum(only))
        b = part >= only[0]
        compared = paired_test("accuracy", [True] * 300, [a.tolist()], [b.tolist()], confidence=confidence)
        hits += bool(compared.parts) and compared.is_equivalent(only[0] - only[1])
    return Rate(hits, count)


def arm_answers(kind: Kind, gold: np.ndarray, hardness: np.ndarray, arm: ArmDesign, draw: np.random.Generator) -> Arm:
    """Draw the answers of all restarts of an arm's pre-trainings.

    Half of what makes a row hard for one backbone is common to the pre-trainings of the arm.
    """
    rows = len(gold)
    of_arm = draw.normal(0, BACKBONE * 0.5**0.5, rows)
    pre_trainings = []
    for _ in range(arm.pre_trainings):
        of_rows = hardness + of_arm + draw.normal(0, BACKBONE * 0.5**0.5, rows)
        noise = draw.normal(0, NOISE, (arm.restarts, rows))
        quality = kind.quality + draw.normal(0, arm.ratio * RESTART_EFFECT)
        seeds = draw.normal(0, RESTART_EFFECT, (arm.restarts, 1))
        pre_trainings.append(kind.answers(gold, quality + seeds, of_rows + noise).tolist())
    return pre_trainings


def arm_rejections(kind: Kind, arm: ArmDesign, *, count: int) -> tuple[Rate, Rate]:
    """Count the studies in which a difference is found: between the arms, and between their first pre-trainings."""
    of_arms = 0
    of_first = 0
    for number in range(count):
        draw = np.random.default_rng([number, arm.pre_trainings, arm.restarts, int(10 * arm.ratio)])
        gold = kind.gold(draw)
        hardness = draw.normal(0, ROW, len(gold))
        a, b = (arm_answers(kind, gold, hardness, arm, draw) for _ in range(2))
        of_arms += arms_test(kind.metric, gold.tolist(), a, b).p < 0.05
        of_first += paired_test(kind.metric, gold.tolist(), a[0], b[0]).p < 0.05
    return Rate(of_arms, count), Rate(of_first, count)


def print_arms(kind: Kind, count: int) -> None:
    """Print both tables of arms, with a row for each deviation between pre-trainings."""
    heads = [f"{pre_trainings} with {restarts}" for pre_trainings, restarts in ARMS]
    tables = {"arms": list[tuple[str, list[Rate]]](), "the first pre-training of each": []}
    for ratio in (0.0, 1.0, 3.0):
        rates = [arm_rejections(kind, ArmDesign(*arm, ratio), count=count) for arm in ARMS]
        for rows, of_test in zip(tables.values(), zip(*rates, strict=True), strict=True):
            rows.append((f"pre-trainings vary {ratio:.2g} times as much as restarts", list(of_test)))
    for tested, rows in tables.items():
        print_table(f"No difference between arms, {kind.metric.name}, test of {tested}", heads)
        for name, of_row in rows:
            print_row(name, of_row)


@dataclass(frozen=True)
class Choice:
    """What is found in studies of which one backbone chose its grid point."""

    found: Rate
    """Studies with a difference."""
    difference: float
    """Mean difference of the scores."""

    def __str__(self) -> str:
        return f"{self.found} ({100 * self.difference:+.1f})"


def chosen(kind: Kind, points: tuple[int, int], restarts: int, *, seeds: bool, count: int, rows: int = ROWS) -> Choice:
    """Compare two backbones that choose among these numbers of grid points, all of which are equally good.

    `rows` is the number of rows of dev, 300 at most.
    """
    hits = 0
    differences = []
    for number in range(count):
        draw = np.random.default_rng([number, points[0], restarts, seeds, *kind.metric.name.encode()])
        gold, hardness = kind.gold(draw), draw.normal(0, ROW, ROWS)
        of_backbones = []
        for size in points:
            effects = draw.normal(0, kind.seed_effect * seeds, size * restarts)
            answers = backbone(kind, gold, hardness, effects, draw)
            of_backbones.append([answers[start : start + restarts] for start in range(0, size * restarts, restarts)])
        of_dev = gold[:rows].tolist()

        def score(point: list[list[float]], gold: list[float] = of_dev) -> float:
            return float(np.mean([kind.metric.value(gold, restart[:rows]) for restart in point]))

        best, other = ([restart[:rows] for restart in max(of_one, key=score)] for of_one in of_backbones)
        test = paired_test(kind.metric, of_dev, best, other, resamples=499)
        hits += test.p < LEVEL
        differences.append(test.difference)
    return Choice(Rate(hits, count), float(np.mean(differences)))


def clustered(layout: Sequence[int], restarts: int) -> Design:
    """Return the design of a layout of clusters."""
    ids = np.repeat(np.arange(len(layout)), layout).tolist()
    return Design((restarts, restarts), ids)


def unequal(restarts: tuple[int, int], ratio: float) -> Design:
    """Return a design without clusters; the seeds of the second backbone vary `ratio` times as much."""
    return Design(restarts, range(300), (0.15, 0.15 * ratio))


def print_table(title: str, columns: Sequence[str]) -> None:
    """Print the head of a table in Markdown."""
    print(f"\n{title}\n\n| |", " | ".join(columns), "|\n| --- |", " | ".join("---:" for _ in columns), "|")


def print_row(name: str, rates: Iterable[object]) -> None:
    """Print a row of a table."""
    print(f"| {name} |", " | ".join(map(str, rates)), "|", flush=True)


def print_clustered(title: str, measure: Callable[..., Rate], restarts: int, count: int) -> None:
    """Print a table with a column for each layout; the measure is given the clusters, or not."""
    print_table(title, list(LAYOUTS))
    designs = [clustered(layout, restarts) for layout in LAYOUTS.values()]
    for kind in KINDS_HERE:
        for given, what in ((False, "rows"), (True, "clusters")):
            rates = (measure(kind, design, count=count, given=given) for design in designs)
            print_row(f"{kind.metric.name}, {what}", rates)


def collapsing(fall: float, restarts: int, count: int) -> tuple[Rate, Rate]:
    """Count the studies that find a difference of equal expected accuracies, and those in which no fit collapsed.

    One in ten fits of the second system falls by `fall`; the first one errs as much more in every fit.
    """
    draws = np.random.default_rng([restarts, round(1000 * fall)])
    gold = [1] * ROWS
    found = unseen = unseen_found = 0
    for _ in range(count):
        hardness = draws.normal(0, ROW, ROWS)
        right = []
        for _ in range(2):
            rows = hardness + draws.normal(0, BACKBONE, ROWS) + draws.normal(0, NOISE, (restarts, ROWS))
            right.append(rows > -0.8)
        is_kept = draws.random((restarts, ROWS)) >= fall / 0.79  # of 79 % right answers
        has_collapsed = draws.random(restarts) < SHARE_OF_COLLAPSES
        right[1] = np.where(has_collapsed[:, None], right[1] & is_kept, right[1])
        right[0] &= draws.random((restarts, ROWS)) >= SHARE_OF_COLLAPSES * fall / 0.79
        is_found = paired_test("accuracy", gold, *(side.astype(int).tolist() for side in right)).p < LEVEL
        found += is_found
        if not has_collapsed.any():
            unseen += 1
            unseen_found += is_found
    return Rate(found, count), Rate(unseen_found, unseen)


def print_collapsing(count: int) -> None:
    """Print how often equal expected scores are reported to differ where fits collapse."""
    print_table("One fit in ten collapses: differences found (where none collapsed)", COLLAPSED_RESTARTS)
    for fall in (0.1, 0.21, 0.47):
        cells = [collapsing(fall, int(restarts), count) for restarts in COLLAPSED_RESTARTS]
        print_row(f"by {100 * fall:.0f} points", (f"{every} ({unseen})" for every, unseen in cells))


def print_choices(count: int) -> None:
    """Print how often the choice of a grid point makes a difference, with the mean difference in points."""
    print_table("No difference, grid points chosen on dev (mean difference in points)", [name for name, *_ in CHOICES])
    for kind in KINDS_HERE:
        for points in POINTS:
            print(f"| {kind.metric.name}, {points} and 1 |", end="")
            for _, restarts, seeds in CHOICES:
                found = chosen(kind, (points, 1), restarts, seeds=seeds, count=count)
                print(f" {found} |", end="", flush=True)
            print()


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=STUDIES, help="simulated studies of each cell")
    tables = ("clusters", "collapses", "coverage", "unequal", "margin", "arms", "points")
    parser.add_argument("--only", choices=tables, help="only these tables")
    arguments = parser.parse_args()
    count: int = arguments.studies
    if arguments.only in (None, "clusters"):
        for restarts in (1, 3):
            print_clustered(f"No difference, {restarts} restart(s), rows in clusters", rejections, restarts, count)
    if arguments.only in (None, "coverage"):
        print_clustered("True scores in the interval over examples, 3 restarts", coverage, 3, count)
    if arguments.only in (None, "collapses"):
        print_collapsing(count)
    if arguments.only in (None, "points"):
        print_choices(count)
    if arguments.only in (None, "unequal"):
        print_table("No difference, unequal numbers of restarts, accuracy", [f"{a} and {b}" for a, b in UNEQUAL])
        for ratio in (1 / 3, 1.0, 3.0):
            rates = (rejections(KINDS_HERE[0], unequal(pair, ratio), count=count) for pair in UNEQUAL)
            print_row(f"deviation of seeds {ratio:.2g} times as large", rates)
    if arguments.only in (None, "margin"):
        print_table("Fits that differ by the margin, called equivalent", [f"{a:.0%} and {b:.0%}" for a, b in ONE_SIDED])
        for confidence in (0.9, 0.95):
            rates = (false_equivalence(only, confidence, count) for only in ONE_SIDED)
            print_row(f"interval of {confidence:.0%}", rates)
    if arguments.only in (None, "arms"):
        print_arms(KINDS_HERE[0], count)


if __name__ == "__main__":
    main()
