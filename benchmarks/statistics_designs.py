"""Simulates studies whose rows come in clusters, or whose systems have different numbers of restarts.

    python benchmarks/statistics_designs.py            # 2,000 studies a cell: tables of docs/statistics.md
    python benchmarks/statistics_designs.py --studies 200 --only clusters

Studies are those of statistics_simulation.py, without a true difference. The rows of a cluster share a part of what
makes them hard: for every backbone, and for one backbone. Tables say how often `paired_test` finds a difference, with
and without the ids of the clusters, and how often the interval over examples contains the true score.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from statistics_simulation import BACKBONE, KINDS, NOISE, ROW, STUDIES, Kind, Rate, Study

from benchrunner.statistics import example_interval, paired_test

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
UNEQUAL = ((3, 2), (3, 5), (3, 10), (5, 2), (10, 2))
"""Numbers of restarts of the two backbones."""


@dataclass(frozen=True)
class Design:
    """The numbers of restarts of both backbones, the cluster of each row, and the deviation of seeds' qualities."""

    restarts: tuple[int, int]
    clusters: Sequence[int]
    seed_effects: tuple[float, float] = (0.0, 0.0)


def studies(kind: Kind, design: Design, count: int) -> Iterator[Study]:
    """Draw studies of two backbones that are equally good over all rows and seeds."""
    ids = np.array(design.clusters)
    rows, clusters = len(ids), int(ids.max()) + 1
    for number in range(count):
        draw = np.random.default_rng([number, *design.restarts, clusters, *kind.metric.name.encode()])

        def difficulty(deviation: float, draw: np.random.Generator = draw) -> np.ndarray:
            """Draw a part of the rows' difficulty, of which clusters share a part."""
            shared = draw.normal(0, deviation * SHARED**0.5, clusters)[ids]
            return np.asarray(shared + draw.normal(0, deviation * (1 - SHARED) ** 0.5, rows))

        gold = kind.gold(draw)
        hardness = difficulty(ROW)
        answers = []
        for restarts, effect in zip(design.restarts, design.seed_effects, strict=True):
            of_rows = hardness + difficulty(BACKBONE) + draw.normal(0, NOISE, (restarts, rows))
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
    truth = np.mean([kind.metric.value(study.gold, study.a[0]) for study in studies(kind, design, 4_000)])
    hits = 0
    for study in studies(kind, design, count):
        clusters = design.clusters if given else None
        interval = example_interval(kind.metric, study.gold, study.a, clusters=clusters, resamples=500)
        hits += interval.low <= truth <= interval.high
    return Rate(hits, count)


def clustered(layout: Sequence[int], restarts: int) -> Design:
    """Return the design of a layout of clusters."""
    ids = np.repeat(np.arange(len(layout)), layout).tolist()
    return Design((restarts, restarts), ids)


def unequal(restarts: tuple[int, int], ratio: float) -> Design:
    """Return a design without clusters; the seeds of the second backbone vary `ratio` times as much."""
    return Design(restarts, range(300), (0.15, 0.15 * ratio))


def print_table(title: str, columns: Sequence[str], rows: dict[str, Callable[[str], Rate]]) -> None:
    """Print a table in Markdown."""
    print(f"\n{title}\n\n| |", " | ".join(columns), "|\n| --- |", " | ".join("---:" for _ in columns), "|")
    for name, rate in rows.items():
        print(f"| {name} |", " | ".join(str(rate(column)) for column in columns), "|", flush=True)


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=STUDIES, help="simulated studies of each cell")
    parser.add_argument("--only", choices=("clusters", "coverage", "unequal"), help="only these tables")
    arguments = parser.parse_args()
    count: int = arguments.studies
    names = list(LAYOUTS)
    if arguments.only in (None, "clusters"):
        for restarts in (1, 3):
            rows: dict[str, Callable[[str], Rate]] = {}
            for kind in KINDS_HERE:
                for given in (False, True):

                    def rate(layout: str, kind: Kind = kind, given: bool = given, restarts: int = restarts) -> Rate:
                        return rejections(kind, clustered(LAYOUTS[layout], restarts), count=count, given=given)

                    rows[f"{kind.metric.name}, {'clusters' if given else 'rows'}"] = rate
            print_table(f"No difference, {restarts} restart(s), rows in clusters", names, rows)
    if arguments.only in (None, "coverage"):
        rows = {}
        for kind in KINDS_HERE:
            for given in (False, True):

                def held(layout: str, kind: Kind = kind, given: bool = given) -> Rate:
                    return coverage(kind, clustered(LAYOUTS[layout], 3), count=count, given=given)

                rows[f"{kind.metric.name}, {'clusters' if given else 'rows'}"] = held
        print_table("True scores in the interval over examples, 3 restarts", names, rows)
    if arguments.only in (None, "unequal"):
        pairs = {f"{a} and {b}": (a, b) for a, b in UNEQUAL}
        rows = {}
        for ratio in (1 / 3, 1.0, 3.0):

            def found(pair: str, ratio: float = ratio) -> Rate:
                return rejections(KINDS_HERE[0], unequal(pairs[pair], ratio), count=count)

            rows[f"deviation of seeds {ratio:.2g} times as large"] = found
        print_table("No difference, unequal numbers of restarts, accuracy", list(pairs), rows)


if __name__ == "__main__":
    main()
