"""Draws studies from the real answers of many fits of one backbone, and reports how often the statistics are right.

    benchrunner compare bert/novels --tasks squad/1.1,conll/ner --restarts 10 --limit-train 1000 --epochs 2 --lr 1e-3 \\
        --data DIR --runs RUNS --name answers
    python benchmarks/statistics_answers.py --data DIR --runs RUNS        # 2,000 studies a cell

A study draws clusters (SQuAD's articles, CoNLL's documents) with replacement, and two backbones with restarts of their
own, which are different fits of the one backbone: so there is no difference between the two. Tables say how often
`paired_test` finds one, and how often the interval over examples holds the score of all rows, with and without the ids
of the clusters.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from statistics_designs import print_row, print_table
from statistics_simulation import LEVEL, STUDIES, Rate

from benchrunner import Metric, Workspace
from benchrunner.metrics import RowSums
from benchrunner.results import Result, Runner, discover, read_study
from benchrunner_statistics import example_interval, paired_test
from benchrunner_statistics.scored_answers import ScoredAnswers
from benchrunner_statistics.study_statistics import scored_answers

RESTARTS = (3, 5)
DRAWN = (10, None)
"""Numbers of clusters that a study draws; None is as many as there are."""


@dataclass(frozen=True)
class Answers:
    """The answers of the fits of one backbone to the rows of a task."""

    title: str
    metric: Metric
    values: list[np.ndarray]
    """What the metric sums over rows, (rows, values), for each fit."""
    clusters: list[np.ndarray]
    """The rows of each cluster."""


def answers_of(fits: Sequence[ScoredAnswers], title: str) -> Answers:
    """Return answers whose rows are reduced to what the metric sums, so that thousands of studies take minutes."""
    first = fits[0]
    assert first.row_sums is not None and first.clusters is not None
    sums = RowSums(lambda gold, predicted: predicted, first.row_sums.figure)
    metric = Metric.of_sums(first.metric.name, sums)
    rows = [np.flatnonzero(first.clusters == number) for number in range(int(first.clusters.max()) + 1)]
    return Answers(title, metric, [fit.row_values for fit in fits], rows)


def every_answers(result: Result) -> Iterator[Answers]:
    """Yield the answers of all restarts in the first column of each task whose rows have clusters."""
    for cell in result.table_cells:
        task = cell.cell.task
        if task.clusters:
            split, metric = task.named("dev")[0], task.metrics[0]
            term = next(term for term in cell.figures if (term.split, term.metric) == (split, metric.name))
            yield answers_of(scored_answers(cell, term), f"{task.name}, {metric.name}")


@dataclass(frozen=True)
class Drawn:
    """A drawn study: the cluster of each row, and the answers of some fits, whose places are given too."""

    clusters: list[int]
    fits: list[int]
    answers: list[list[tuple[float, ...]]]

    @property
    def gold(self) -> list[int]:
        """Something in place of the gold answers, which the values of rows have taken in."""
        return [0] * len(self.clusters)


def studies(answers: Answers, count: int, *, fits: int, clusters: int | None) -> Iterator[Drawn]:
    """Draw studies with a number of different fits and of clusters."""
    known = len(answers.clusters)
    for number in range(count):
        draw = np.random.default_rng([number, fits, clusters or 0])
        chosen = [answers.clusters[cluster] for cluster in draw.integers(known, size=clusters or known)]
        rows = np.concatenate(chosen)
        ids = np.repeat(np.arange(len(chosen)), [len(cluster) for cluster in chosen])
        places = draw.permutation(len(answers.values))[:fits].tolist()
        of_fits = []
        for place in places:
            values = answers.values[place][rows].tolist()
            of_fits.append([tuple(of_row) for of_row in values])
        yield Drawn(ids.tolist(), places, of_fits)


def rejections(answers: Answers, count: int, *, restarts: int, clusters: int | None, given: bool) -> Rate:
    """Count the studies in which a difference is found between fits of the same backbone."""
    hits = 0
    for study in studies(answers, count, fits=2 * restarts, clusters=clusters):
        ids = study.clusters if given else None
        a, b = study.answers[:restarts], study.answers[restarts:]
        hits += paired_test(answers.metric, study.gold, a, b, clusters=ids).p < LEVEL
    return Rate(hits, count)


def coverage(answers: Answers, count: int, *, restarts: int, clusters: int | None, given: bool) -> Rate:
    """Count the studies whose interval over examples holds the score of the same fits on all rows."""
    every = [answers.metric.value([0] * len(values), values.tolist()) for values in answers.values]
    hits = 0
    for study in studies(answers, count, fits=restarts, clusters=clusters):
        ids = study.clusters if given else None
        truth = float(np.mean([every[fit] for fit in study.fits]))
        interval = example_interval(answers.metric, study.gold, study.answers, clusters=ids)
        hits += interval.low <= truth <= interval.high
    return Rate(hits, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True, help="the runs folder with the study")
    parser.add_argument("--study", default="answers", help="name of the kept study (default: answers)")
    parser.add_argument("--studies", type=int, default=STUDIES, help="number of drawn studies of each cell")
    arguments = parser.parse_args()
    runner = Runner(discover(), Workspace(arguments.runs, arguments.runs / "cache", data=arguments.data))
    found = list(every_answers(read_study(arguments.study, runner)))
    for title, measure in (("False differences", rejections), ("True scores in the interval", coverage)):
        print_table(title, [answers.title for answers in found])
        for clusters in DRAWN:
            for restarts in RESTARTS:
                for given in (False, True):
                    name = f"{clusters or 'all'} clusters, {restarts} restarts, {'clusters' if given else 'rows'}"
                    rates = (
                        measure(answers, arguments.studies, restarts=restarts, clusters=clusters, given=given)
                        for answers in found
                    )
                    print_row(name, rates)


if __name__ == "__main__":
    main()
