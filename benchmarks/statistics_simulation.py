"""Simulates studies whose true differences are known, and reports how often `paired_test` and the intervals are right.

    python benchmarks/statistics_simulation.py          # 2,000 studies a cell: the tables of docs/proofs/statistics.md
    python benchmarks/statistics_simulation.py --studies 200 --only power

A study has 300 rows, two backbones and 1, 3 or 5 restarts of each. Every backbone has rows that are hard for it. Every
restart has noise of its own on each row and, with a seed effect, a quality of its own for all rows. Restarts are nested
in their backbone: restart 0 of one has nothing in common with restart 0 of the other.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from benchrunner.metrics import Metric
from benchrunner.metrics.metric import ACCURACY
from benchrunner.studies.intervals import restart_interval
from benchrunner_statistics import example_interval, paired_test
from benchrunner_tasks import MATTHEWS, PEARSON, f1

ROWS = 300
RESTARTS = (1, 3, 5)
STUDIES = 2_000
LEVEL = 0.05
SHARE = 0.35
"""Share of rows with the label 1 where scores are near their limits."""
SCORES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99)


def words_f1(gold: float, answer: float) -> float:
    """Turn a simulated overlap into the F1 of a span: often exactly 0 or 1, as SQuAD's."""
    return min(1.0, max(0.0, round(answer, 1)))


SPANS = Metric("span_f1", lambda gold, answers: sum(map(words_f1, gold, answers)) / len(gold), per_row=words_f1)


@dataclass(frozen=True)
class Kind:
    """A kind of task: how hidden qualities become gold answers and predictions."""

    metric: Metric
    gold: Callable[[np.random.Generator], np.ndarray]
    """Draws the gold answers of the rows."""
    answers: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    """Computes answers from the gold answers, the quality of a restart, and what is added to it on each row."""
    quality: float
    """Mean quality of a backbone."""
    seed_effect: float
    """Deviation of the quality between restarts, where there is a seed effect."""
    gain: float
    """Additional quality of the better backbone, for the power: about 4 points of the metric."""


Seeds = Literal["none", "nested", "equal"]
"""Effect of seeds on the quality: none; nested in each backbone; or the same for both, so that two fits are equally
good."""


def binary(share: float) -> Callable[[np.random.Generator], np.ndarray]:
    """Draw labels, of which a share are 1."""
    return lambda generator: (generator.random(ROWS) < share).astype(int)


def labels(gold: np.ndarray, quality: np.ndarray, of_rows: np.ndarray) -> np.ndarray:
    """Answer a row rightly where its quality is positive."""
    return np.where(quality + of_rows > 0, gold, 1 - gold)


def numbers(gold: np.ndarray, quality: np.ndarray, of_rows: np.ndarray) -> np.ndarray:
    """Predict gold scores with a noise that is smaller for a higher quality."""
    return np.asarray(gold + of_rows * np.exp(-quality))


KINDS = (
    Kind(ACCURACY, binary(0.5), labels, quality=1.0, seed_effect=0.06, gain=0.22),
    Kind(f1(1), binary(0.35), labels, quality=1.0, seed_effect=0.06, gain=0.22),
    Kind(MATTHEWS, binary(0.35), labels, quality=1.0, seed_effect=0.06, gain=0.22),
    Kind(PEARSON, lambda draw: draw.normal(size=ROWS), numbers, quality=0.7, seed_effect=0.06, gain=0.22),
    Kind(SPANS, lambda draw: np.zeros(ROWS), lambda gold, quality, of_rows: quality + of_rows, 0.6, 0.04, 0.15),
)
"""Three metrics of labels, a correlation and the mean F1 of spans."""
ROW, BACKBONE, NOISE = 0.7, 0.45, 0.55
"""Deviations of what makes a row hard: for every backbone, for one backbone, and in one restart."""


def backbone(
    kind: Kind, gold: np.ndarray, hardness: np.ndarray, seeds: np.ndarray, draw: np.random.Generator, gain: float = 0.0
) -> list[list[float]]:
    """Draw the answers of the restarts of a backbone; `seeds` is what is added to the quality of each restart."""
    rows = hardness + draw.normal(0, BACKBONE, ROWS)
    noise = draw.normal(0, NOISE, (len(seeds), ROWS))
    answers: list[list[float]] = kind.answers(gold, kind.quality + gain + seeds[:, None], rows + noise).tolist()
    return answers


@dataclass(frozen=True)
class Study:
    """Gold answers, and the answers of the restarts of two backbones."""

    gold: list[float]
    a: list[list[float]]
    b: list[list[float]]


def studies(kind: Kind, restarts: int, *, seeds: Seeds, gain: float, count: int) -> Iterator[Study]:
    """Draw studies; the first backbone is better by `gain`."""
    for number in range(count):
        draw = np.random.default_rng([number, restarts, *seeds.encode(), *kind.metric.name.encode()])
        gold, hardness = kind.gold(draw), draw.normal(0, ROW, ROWS)
        effects = draw.normal(0, kind.seed_effect, (2, restarts)) if seeds != "none" else np.zeros((2, restarts))
        if seeds == "equal":
            effects[1] = effects[0]
        a, b = (
            backbone(kind, gold, hardness, effect, draw, more)
            for effect, more in zip(effects, (gain, 0.0), strict=True)
        )
        yield Study(gold.tolist(), a, b)


@dataclass(frozen=True)
class Rate:
    """How many of some studies are counted."""

    hits: int
    studies: int

    @property
    def share(self) -> float:
        return self.hits / self.studies

    @property
    def limit(self) -> float:
        """The highest share that 5 % and two standard errors allow."""
        return LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / self.studies)

    def __str__(self) -> str:
        return f"{100 * self.share:.1f}"


def rejections(
    kind: Kind, restarts: int, *, seeds: Seeds, gain: float = 0.0, count: int = STUDIES, resamples: int = 499
) -> Rate:
    """Count the studies in which `paired_test` finds a difference."""
    found = sum(
        paired_test(kind.metric, study.gold, study.a, study.b, resamples=resamples).p < LEVEL
        for study in studies(kind, restarts, seeds=seeds, gain=gain, count=count)
    )
    return Rate(found, count)


def true_score(kind: Kind, draw: np.random.Generator, *, rows: int = 200_000) -> float:
    """Estimate the score of a backbone without a seed effect on very many rows."""
    repeats = rows // ROWS
    gold = np.concatenate([kind.gold(draw) for _ in range(repeats)])
    spread = math.sqrt(ROW**2 + BACKBONE**2 + NOISE**2)
    answers = kind.answers(gold, np.array(kind.quality), draw.normal(0, spread, len(gold)))
    return kind.metric.value(gold.tolist(), answers.tolist())


def coverage(kind: Kind, restarts: int, *, count: int = STUDIES) -> Rate:
    """Count the studies whose interval over examples contains the true score."""
    truth = true_score(kind, np.random.default_rng(0))
    hits = 0
    for study in studies(kind, restarts, seeds="none", gain=0.0, count=count):
        interval = example_interval(kind.metric, study.gold, study.a)
        hits += interval.low <= truth <= interval.high
    return Rate(hits, count)


def near_limits(metric: Metric, rows: int, score: float, *, count: int = STUDIES) -> Rate:
    """Count the samples of so many rows whose interval contains the score that single fits have on all rows.

    35 % of the rows have the label 1, and both labels are answered rightly equally often.
    """

    def confusion(error: float) -> np.ndarray:
        return np.array([SHARE * (1 - error), SHARE * error, (1 - SHARE) * error, (1 - SHARE) * (1 - error)])

    def excess(error: float) -> float:
        counts = np.rint(confusion(error) * 1e5).astype(int)
        return metric.value(np.repeat((1, 1, 0, 0), counts).tolist(), np.repeat((1, 0, 1, 0), counts).tolist()) - score

    error = brentq(excess, 0.0, 0.6, xtol=1e-5)
    truth = excess(error) + score
    hits = 0
    for number in range(count):
        draw = np.random.default_rng([number, rows, round(score * 1000), *metric.name.encode()])
        counts = draw.multinomial(rows, confusion(error))
        order = draw.permutation(rows)
        gold = np.repeat((1, 1, 0, 0), counts)[order].tolist()
        interval = example_interval(metric, gold, [np.repeat((1, 0, 1, 0), counts)[order].tolist()])
        hits += interval.low <= truth <= interval.high
    return Rate(hits, count)


def print_near_limits(count: int) -> None:
    """Print how often intervals over examples contain a score that may be near 1, for few and many rows."""
    print("\nTrue scores of single fits in the interval over examples\n")
    print("| metric, rows |", " | ".join(f"{score:.2f}" for score in SCORES), "|")
    print("| --- |", " | ".join("---:" for _ in SCORES), "|")
    for metric in (ACCURACY, f1(1), MATTHEWS):
        for rows in (20, 60, 200, 1_000):
            rates = (str(near_limits(metric, rows, score, count=count)) for score in SCORES)
            print(f"| {metric.name}, {rows:,} |", " | ".join(rates), "|", flush=True)


def restart_coverage(kind: Kind, restarts: int, *, count: int = STUDIES) -> Rate:
    """Count the studies whose interval over restarts contains the mean of 50 other restarts on the same rows."""
    hits = 0
    for number in range(count):
        draw = np.random.default_rng([number, restarts, *kind.metric.name.encode()])
        gold, hardness = kind.gold(draw), draw.normal(0, ROW, ROWS)
        seeds = draw.normal(0, kind.seed_effect, 50 + restarts)
        answers = backbone(kind, gold, hardness, seeds, draw)
        scores = [kind.metric.value(gold.tolist(), restart) for restart in answers]
        interval = restart_interval(scores[50:])
        hits += interval is not None and interval.low <= math.fsum(scores[:50]) / 50 <= interval.high
    return Rate(hits, count)


def print_table(title: str, rate: Callable[[Kind, int], object], restarts: tuple[int, ...] = RESTARTS) -> None:
    """Print a table in Markdown with a row for each metric and a column for each number of restarts."""
    print(f"\n{title}\n")
    print("| metric |", " | ".join(f"{number} restart{'s' * (number > 1)}" for number in restarts), "|")
    print("| --- |", " | ".join("---:" for _ in restarts), "|")
    for kind in KINDS:
        print(f"| {kind.metric.name} |", " | ".join(str(rate(kind, number)) for number in restarts), "|", flush=True)


def null_seeds(restarts: int) -> Seeds:
    """Return the seed effect under the null: one restart compares the fits, so these are equally good."""
    return "equal" if restarts == 1 else "nested"


def gained(kind: Kind) -> float:
    """Estimate by how many points the better backbone of the power is better."""
    better = dataclasses.replace(kind, quality=kind.quality + kind.gain)
    scores = [true_score(each, np.random.default_rng(0)) for each in (better, kind)]
    return 100 * (scores[0] - scores[1])


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=STUDIES, help="simulated studies of each cell")
    parser.add_argument("--only", choices=("null", "power", "coverage", "limits"), help="only these tables")
    arguments = parser.parse_args()
    count: int = arguments.studies
    limit = 100 * Rate(0, count).limit
    print(f"{count:,} studies a cell, {ROWS} rows, in percent. 5 % and two standard errors are {limit:.2f}.")
    rate = partial(rejections, count=count)
    if arguments.only in (None, "null"):
        print_table("No difference, no seed effect", lambda *cell: rate(*cell, seeds="none"))
        print_table("No difference, with a seed effect", lambda *cell: rate(*cell, seeds=null_seeds(cell[1])))
        print_table("One restart read as if it were about backbones", lambda *cell: rate(*cell, seeds="nested"), (1,))
    if arguments.only in (None, "power"):
        print(
            "\nThe better backbone is better by", ", ".join(f"{kind.metric.name} {gained(kind):.1f}" for kind in KINDS)
        )
        print_table("One is better, no seed effect", lambda *cell: rate(*cell, seeds="none", gain=cell[0].gain))
        print_table("One is better, with a seed effect", lambda *cell: rate(*cell, seeds="nested", gain=cell[0].gain))
    if arguments.only in (None, "limits"):
        print_near_limits(count)
    if arguments.only in (None, "coverage"):
        print_table("True scores in the interval over examples", partial(coverage, count=count))
        print_table("True means in the interval over restarts", partial(restart_coverage, count=count), (3, 5))


if __name__ == "__main__":
    main()
