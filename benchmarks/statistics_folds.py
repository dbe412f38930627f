"""Simulates cross-validated studies of two systems that are equally good, and reports false marks and coverage.

    python benchmarks/statistics_folds.py                 # 1,000 studies a cell: the table of docs/proofs/statistics.md
    python benchmarks/statistics_folds.py --studies 200

A study has rows of two labels and two ridge classifiers. Each classifier reads features of its own and some that both
read; over all data sets, both are equally good, on a single data set one of them is better by chance. The features are
normal, so that the true accuracy of every fit is known, and with it what the interval of a score should cover: the mean
accuracy, on new rows, of the fits that answered (`fits`), or of fits to other data sets of this size (`method`). Each
share stands twice: for rows that are taken for independent, and with the correction for folds.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchrunner import Classify, Rows, Split, Task
from benchrunner.metrics.metric import ACCURACY
from benchrunner.studies.intervals import Interval
from benchrunner.studies.pairs import Comparison
from benchrunner.tasks.folds import divided_rows
from benchrunner.tasks.task import Folds
from benchrunner_statistics.example_intervals import interval_of_scored
from benchrunner_statistics.paired_tests import Side, compare_sides, with_interval
from benchrunner_statistics.scored_answers import ScoredAnswers

FOLDS = 5
STUDIES = 1_000
LEVEL = 0.05
CLUSTER = 10
"""Rows of a cluster."""
CLUSTER_SHARE = 0.3
"""Share of the variance of a feature that is of the cluster, where there are clusters."""
SIGNAL = 1.6
"""Distance of the means of the two labels, in deviations, over the features of a classifier."""


TASK = Task(
    "simulated/rows", "", Classify(("yes", "no")), {"train": Split("train", ())}, (ACCURACY,), clusters="cluster"
)


@dataclass(frozen=True)
class Case:
    """A kind of study: its size, the features of each classifier, and whether rows are in clusters."""

    rows: int
    own: int
    """Number of features that only this classifier reads; as many are read by both."""
    clusters: bool
    repetitions: int


def cases() -> Iterator[Case]:
    """Yield the lines of the table."""
    for rows, own in ((100, 5), (100, 25), (300, 5), (300, 25), (1_000, 25)):
        for clusters in (False, True):
            for repetitions in (1, 3):
                yield Case(rows, own, clusters, repetitions)


@dataclass(frozen=True)
class Outcome:
    """What a study showed, and what is true."""

    comparisons: tuple[Comparison, ...]
    """Without the correction for folds, and with it."""
    intervals: tuple[Interval, ...]
    """Intervals of the score of the first system, likewise."""
    of_fits: float
    """Mean true accuracy of the fits of the first system."""
    score: float


def accuracy(weights: np.ndarray, shift: float, means: np.ndarray) -> float:
    """Compute the true accuracy of a linear classifier, for labels -1 and 1 with normal features of variance 1."""
    size = np.linalg.norm(weights) * math.sqrt(2)
    margin = float(weights @ means)
    return (2 + math.erf((margin + shift) / size) + math.erf((margin - shift) / size)) / 4


def fitted(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Fit a ridge regression of the labels with an intercept; return weights and intercept."""
    centre, mean = x.mean(axis=0), y.mean()
    inner = (x - centre).T @ (x - centre) + np.eye(x.shape[1])
    weights = np.linalg.solve(inner, (x - centre).T @ (y - mean))
    return weights, float(mean - centre @ weights)


def study(case: Case, number: int) -> Outcome:
    """Draw a data set, cross-validate both classifiers on it, and compare them as a study does."""
    draw = np.random.default_rng([number, case.rows, case.own, case.clusters, case.repetitions])
    size = 3 * case.own
    means = np.full(size, SIGNAL / 2 / math.sqrt(2 * case.own))
    y = np.where(draw.random(case.rows) < 0.5, 1.0, -1.0)
    noise = draw.normal(size=(case.rows, size))
    clusters = np.arange(case.rows) // CLUSTER if case.clusters else None
    if clusters is not None:
        of_clusters = draw.normal(size=(case.rows // CLUSTER, size))
        noise = math.sqrt(1 - CLUSTER_SHARE) * noise + math.sqrt(CLUSTER_SHARE) * of_clusters[clusters]
    features = noise + y[:, None] * means
    ids = range(case.rows) if clusters is None else clusters
    rows = Rows(pa.table({"label": np.where(y > 0, "yes", "no"), "cluster": ids}), "simulated")
    answers: list[list[np.ndarray]] = [[], []]
    accuracies = list[float]()
    for repetition in range(case.repetitions):
        folds = divided_rows(rows, Folds(TASK, FOLDS), repetition)
        for system in (0, 1):
            columns = np.r_[0 : case.own, (1 + system) * case.own : (2 + system) * case.own]
            pooled = np.zeros(case.rows)
            for fold in folds:
                others = np.setdiff1d(np.arange(case.rows), fold)
                weights, shift = fitted(features[np.ix_(others, columns)], y[others])
                pooled[fold] = np.where(features[np.ix_(fold, columns)] @ weights + shift > 0, 1.0, -1.0)
                if system == 0:
                    accuracies.append(accuracy(weights, shift, means[columns]))
            answers[system].append(pooled)
    comparisons = []
    intervals = []
    for number_of_folds in (1, FOLDS):
        a, b = (_scored(y, each, clusters, number_of_folds) for each in answers)
        tested = compare_sides(Side.of_restarts(a), Side.of_restarts(b), resamples=499)
        comparisons.append(with_interval(tested, 0.05))
        intervals.append(interval_of_scored(a))
    return Outcome(
        tuple(comparisons),
        tuple(intervals),
        float(np.mean(accuracies)),
        float((np.array(answers[0]) == y).mean()),
    )


def _scored(
    gold: np.ndarray, restarts: list[np.ndarray], clusters: np.ndarray | None, folds: int
) -> list[ScoredAnswers]:
    return [ScoredAnswers(ACCURACY, gold.tolist(), pooled.tolist(), clusters, folds) for pooled in restarts]


def line(case: Case, outcomes: list[Outcome]) -> str:
    """Write a line of the table."""
    of_method = float(np.mean([outcome.of_fits for outcome in outcomes]))
    shares = []
    for corrected in (0, 1):
        compared = [outcome.comparisons[corrected] for outcome in outcomes]
        shares.append([comparison.p < LEVEL for comparison in compared])
    for corrected in (0, 1):
        intervals = [outcome.intervals[corrected] for outcome in outcomes]
        shares.append(
            [covers(interval, outcome.of_fits) for interval, outcome in zip(intervals, outcomes, strict=True)]
        )
    for corrected in (0, 1):
        intervals = [outcome.intervals[corrected] for outcome in outcomes]
        shares.append([covers(interval, of_method) for interval in intervals])
    bias = np.mean([outcome.score - outcome.of_fits for outcome in outcomes])
    named = f"{case.rows:,} rows{' in clusters' * case.clusters}, {2 * case.own} features"
    folds = f"{FOLDS}x{case.repetitions}" if case.repetitions > 1 else str(FOLDS)
    figures = " | ".join(f"{100 * np.mean(share):.1f}" for share in shares)
    return f"| {named} | {folds} | {100 * of_method:.1f} | {figures} | {100 * bias:.1f} |"


def covers(interval: Interval, value: float) -> bool:
    """Whether a value is in an interval."""
    return interval.low <= value <= interval.high


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=STUDIES)
    arguments = parser.parse_args()
    print("| data | folds | true accuracy | false `*` | corrected | fits | corrected | method | corrected | bias |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for case in cases():
        print(line(case, [study(case, number) for number in range(arguments.studies)]), flush=True)


if __name__ == "__main__":
    main()
