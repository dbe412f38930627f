"""Simulates systems whose calibration is known: bias, intervals, tests and temperatures of `benchrunner calibration`.

    python benchmarks/calibration_simulation.py        # 2,000 draws a cell: tables of docs/proofs/calibration.md
    python benchmarks/calibration_simulation.py --draws 200 --only bias

The logits of a row are drawn from a normal distribution, and its label from their softmax, so that they are calibrated.
A system shows the logits times a sharpness: 1 is calibrated, 2 is overconfident. The rows of a cluster share part of
their logits and, with a probability of a half, the noise that draws their labels. The true calibration error is that of
a large population in the same bins.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchrunner import GoldRow, Metric
from benchrunner.engine import probabilities as of_scores
from benchrunner.results import intervals
from benchrunner_calibration.binning import Binning
from benchrunner_calibration.measures import PLAIN, SQUARE, TESTED, confidence_and_right, measures
from benchrunner_calibration.reliability import reliability
from benchrunner_calibration.temperature import fitted_temperature, temperature_measures
from benchrunner_statistics import example_interval, paired_test
from benchrunner_tasks import log_loss

DRAWS = 2_000
"""Default number of draws of each cell."""
POPULATION = 400_000
"""Number of rows from which true figures are computed."""
DEVIATION = 1.5
"""Deviation of the logits."""
SHARED = 0.5
"""Share of the logits' variance that the rows of a cluster have in common, and how often they share their noise."""
LAYOUTS = ((100, 0), (300, 0), (1_000, 0), (300, 60), (300, 20))
"""Numbers of rows and of clusters; 0 for independent rows."""
BINNING = Binning()
LEVEL = 0.05
CALIBRATED, OVERCONFIDENT = 1.0, 2.0
BRIER, LOG_LOSS, OVERCONFIDENCE = "brier", "log_loss", "overconfidence"


@dataclass(frozen=True)
class Design:
    """Rows, labels and clusters of a data set, and the sharpness of a system's logits."""

    rows: int
    sharpness: float = CALIBRATED
    labels: int = 2
    clusters: int = 0
    """Number of clusters of equal size; 0 for independent rows."""

    def __str__(self) -> str:
        name = f"{self.rows:,} rows, {self.labels} labels"
        return f"{name}, {self.clusters} clusters" if self.clusters else name

    @property
    def units(self) -> list[int]:
        """The number of each row's cluster, or of the row."""
        numbers: list[int] = (np.arange(self.rows) % (self.clusters or self.rows)).tolist()
        return numbers

    @property
    def metrics(self) -> dict[str, Metric]:
        """The metrics of calibration by name."""
        return {metric.name: metric for metric in measures((), BINNING, "cluster" if self.clusters else "")}

    def interval(self, metric: Metric, answers: Answers) -> intervals.Interval:
        """Return the interval of 95 % of a metric."""
        clusters = self.units if self.clusters else None
        return example_interval(metric, self.gold(answers), [answers.given], clusters=clusters)

    def gold(self, answers: Answers) -> list[Any]:
        """Return what metrics compare with: labels, beside them the clusters if there are some."""
        labels: list[Any] = answers.gold.tolist()
        if not self.clusters:
            return labels
        return [GoldRow(label, {"cluster": unit}) for label, unit in zip(labels, self.units, strict=True)]


@dataclass(frozen=True)
class Answers:
    """The right labels of a data set, (rows,), and the probabilities that a system gives, (rows, labels)."""

    gold: np.ndarray
    probabilities: np.ndarray

    @property
    def given(self) -> list[Any]:
        listed: list[Any] = self.probabilities.tolist()
        return listed

    @property
    def answered(self) -> tuple[np.ndarray, np.ndarray]:
        """The confidences, and which answers are right."""
        return confidence_and_right(self.gold.tolist(), self.given, ())


def draw(design: Design, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw the calibrated logits of all rows, (rows, labels), and their labels, (rows,)."""
    shape = (design.rows, design.labels)
    logits = generator.normal(0, DEVIATION, shape)
    noise = generator.gumbel(size=shape)
    if design.clusters:
        unit_of = np.array(design.units)
        of_clusters = generator.normal(0, DEVIATION, (design.clusters, design.labels))[unit_of]
        logits = np.sqrt(SHARED) * of_clusters + np.sqrt(1 - SHARED) * logits
        is_shared = generator.random(design.rows) < SHARED
        noise = np.where(is_shared[:, None], generator.gumbel(size=(design.clusters, design.labels))[unit_of], noise)
    return logits, (logits + noise).argmax(axis=1)


def answers_to(logits: np.ndarray, gold: np.ndarray, sharpness: float) -> Answers:
    """Return the answers of a system with such logits times a sharpness."""
    return Answers(gold, of_scores.softmax(sharpness * logits))


def draws(design: Design, count: int) -> Iterable[Answers]:
    """Yield the answers of a system to data sets that are drawn anew."""
    for number in range(count):
        seeds = [number, design.rows, design.labels, design.clusters, round(10 * design.sharpness)]
        yield answers_to(*draw(design, np.random.default_rng(seeds)), design.sharpness)


class Truth:
    """True figures of a system."""

    def __init__(self, design: Design) -> None:
        generator = np.random.default_rng(2**32)
        logits = generator.normal(0, DEVIATION, (POPULATION, design.labels))
        true = of_scores.softmax(logits)
        shown = of_scores.softmax(design.sharpness * logits)
        order = np.argsort(shown.max(axis=1))
        self.confidence = shown.max(axis=1)[order]
        self.right = true.max(axis=1)[order]
        of_right_label = (shown**2).sum(axis=1) - 2 * (shown * true).sum(axis=1) + 1
        losses = -(true * np.log(shown)).sum(axis=1)
        means = {BRIER: of_right_label, LOG_LOSS: losses, OVERCONFIDENCE: self.confidence - self.right}
        self.means = {name: float(values.mean()) for name, values in means.items()}
        self.logits, self.probabilities = logits, true

    def log_loss(self, sharpness: float) -> float:
        """Return the log loss of the logits times a sharpness, over a part of the population."""
        rows = slice(0, POPULATION // 20)
        shown = of_scores.softmax(sharpness * self.logits[rows])
        return float(-(self.probabilities[rows] * np.log(shown)).sum(axis=1).mean())

    def binned(self, answers: Answers) -> tuple[float, float]:
        """Return the true squared and the true plain calibration error in the bins of some answers."""
        edges = np.quantile(answers.answered[0], np.arange(1, BINNING.count) / BINNING.count)
        numbers = np.searchsorted(edges, self.confidence)
        gaps = np.bincount(numbers, self.confidence - self.right)
        rows = np.bincount(numbers)
        return float((gaps**2 / np.maximum(rows, 1)).sum()) / POPULATION, float(np.abs(gaps).sum()) / POPULATION

    def accuracy(self, low: float, high: float) -> float:
        """Return the true accuracy of answers with such confidences."""
        start, end = np.searchsorted(self.confidence, (low, high))
        return float(self.right[start : max(end, start + 1)].mean())


def bias(count: int) -> Iterable[Sequence[str]]:
    """Yield for each design the means of the plain and of the debiased error, beside the truth."""
    yield "data", "system", "plain ECE", "true ECE", "squared error x 10,000", "true"
    for labels in (2, 3):
        for sharpness in (CALIBRATED, OVERCONFIDENT):
            for rows in (100, 300, 1_000, 3_000):
                design = Design(rows, sharpness, labels)
                truth, metrics = Truth(design), design.metrics
                lines = []
                for answers in draws(design, count):
                    plain = metrics[PLAIN].value(answers.gold.tolist(), answers.given)
                    squared = metrics[SQUARE].value(answers.gold.tolist(), answers.given)
                    true_square, true_plain = truth.binned(answers)
                    lines.append((plain, true_plain, squared, true_square))
                figures = np.mean(lines, axis=0) * (100, 100, 10_000, 10_000)
                error = 10_000 * np.std([line[2] for line in lines]) / np.sqrt(count)
                texts = [f"{figure:.1f}" for figure in figures]
                texts[2] = f"{figures[2]:.1f} ± {error:.1f}"
                yield str(design), name_of(design), *texts


def coverage(count: int) -> Iterable[Sequence[str]]:
    """Yield for each design how many intervals of 95 % contain the truth, in percent."""
    names = (SQUARE, OVERCONFIDENCE, BRIER, LOG_LOSS)
    yield "data", "system", *names, "accuracy of a bin"
    for rows, clusters in LAYOUTS:
        for sharpness in (CALIBRATED, OVERCONFIDENT):
            design = Design(rows, sharpness, 2, clusters)
            truth = Truth(design)
            hits = []
            for answers in draws(design, count):
                true = {**truth.means, SQUARE: truth.binned(answers)[0]}
                of_draw = []
                for name in names:
                    of_draw.append(_contains(design.interval(design.metrics[name], answers), true[name]))
                hits.append([*of_draw, _bins_hit(answers, design, truth)])
            yield str(design), name_of(design), *(f"{100 * share:.1f}" for share in np.mean(hits, axis=0))


def _contains(interval: intervals.Interval, value: float) -> float:
    return float(interval.low <= value <= interval.high)


def _bins_hit(answers: Answers, design: Design, truth: Truth) -> float:
    """Return the share of bins whose interval of the accuracy contains the true one."""
    hits = []
    for part in reliability([answers.answered], design.units, Binning(10), 1):
        true = truth.accuracy(part.low, part.high)
        hits.append(part.interval.low <= true <= part.interval.high)
    return float(np.mean(hits))


def level(count: int) -> Iterable[Sequence[str]]:
    """Yield how often a difference is found between systems that are equally good, and equally calibrated."""
    yield "data", "sharpness", "restarts", *TESTED
    for sharpness in (CALIBRATED / 2, OVERCONFIDENT):
        for restarts in (1, 3):
            design = Design(300, sharpness)
            found = []
            for number in range(count):
                a, b = _twins(design, restarts, np.random.default_rng([number, restarts, round(10 * sharpness)]))
                of_draw = []
                for name in TESTED:
                    ours, theirs = ([answers.given for answers in side] for side in (a, b))
                    test = paired_test(design.metrics[name], a[0].gold.tolist(), ours, theirs)
                    of_draw.append(test.p <= LEVEL)
                found.append(of_draw)
            rates = [f"{100 * rate:.1f}" for rate in np.mean(found, axis=0)]
            yield str(design), f"{sharpness:g}", str(restarts), *rates


def _twins(design: Design, restarts: int, generator: np.random.Generator) -> tuple[list[Answers], list[Answers]]:
    """Draw two systems of some restarts. Each fit sees what decides the labels with an error of its own."""
    hidden = generator.normal(0, DEVIATION, (design.rows, 1))
    gold = ((hidden + generator.logistic(size=hidden.shape))[:, 0] > 0).astype(np.int64)
    fits = []
    for _ in range(2 * restarts):
        seen = hidden + generator.normal(0, DEVIATION / 2, hidden.shape)
        fits.append(answers_to(np.hstack([np.zeros_like(seen), seen]), gold, design.sharpness))
    return fits[:restarts], fits[restarts:]


def temperatures(count: int) -> Iterable[Sequence[str]]:
    """Yield what temperatures change: fitted and scored on the same rows, by halves, and in truth."""
    yield "data", "system", "log loss, same rows", "by halves", "true", "interval by halves holds the truth"
    for sharpness in (CALIBRATED, OVERCONFIDENT):
        for rows in (100, 300, 1_000):
            design = Design(rows, sharpness)
            truth = Truth(design)
            lines = []
            for answers in draws(design, count):
                lines.append(_temperature_line(answers, design, truth))
            same, halves, true, hit = np.mean(lines, axis=0)
            texts = [f"{figure:+.4f}" for figure in (same, halves, true)]
            yield str(design), name_of(design), *texts, f"{100 * hit:.1f}"


def _temperature_line(answers: Answers, design: Design, truth: Truth) -> tuple[float, float, float, float]:
    half = np.arange(design.rows) % 2 == 0
    gold, probabilities = answers.gold, answers.probabilities
    losses = log_loss(())
    fitted = of_scores.softmax(np.log(probabilities) / fitted_temperature(gold, probabilities))
    before = losses.value(gold.tolist(), answers.given)
    same = losses.value(gold.tolist(), list(fitted)) - before
    *_, change = temperature_measures((), half, [design.metrics[SQUARE], losses])
    temperatures = [fitted_temperature(gold[rows], probabilities[rows]) for rows in (half, ~half)]
    of_halves = [truth.log_loss(design.sharpness / temperature) for temperature in temperatures]
    true = float(np.mean(of_halves)) - truth.log_loss(design.sharpness)
    interval = design.interval(change, answers)
    return same, change.value(gold.tolist(), answers.given), true, _contains(interval, true)


def name_of(design: Design) -> str:
    return "calibrated" if design.sharpness == CALIBRATED else "overconfident"


TABLES: dict[str, Callable[[int], Iterable[Sequence[str]]]] = {
    "bias": bias,
    "coverage": coverage,
    "level": level,
    "temperatures": temperatures,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of each cell (default: %(default)s)")
    parser.add_argument("--only", choices=TABLES, help="print one table")
    arguments = parser.parse_args()
    for name, table in TABLES.items():
        if arguments.only in (None, name):
            print(f"\n{name}, {arguments.draws:,} draws")
            for number, cells in enumerate(table(arguments.draws)):
                print(f"| {' | '.join(cells)} |", flush=True)
                if number == 0:
                    print(f"|{' --- |' * len(cells)}")


if __name__ == "__main__":
    main()
