"""Simulates learning curves whose crossing is known, and reports how often its interval holds the crossing.

    python benchmarks/statistics_curves.py            # 2,000 studies a cell: the tables of docs/statistics.md
    python benchmarks/statistics_curves.py --studies 200 --only bootstrap

A study has two systems, fitted to 16, 64, 256, 1,024 and 4,096 training rows with some seeds, and dev rows, or clusters
of them. A seed draws a sample of training rows, the same for both systems, whose quality moves both; each fit has a
quality of its own besides, and both vary less with more rows. Where fits collapse, one in ten of those with up to 64
rows answers at random. In probit, the quality of the second system rises linearly over the logarithm of the rows, and
that of the first is the same but for a slope, so that the curves cross at one place, near 128 rows. The truth is
where lines between the expected accuracies at the five places cross.

The intervals are those of `benchrunner.statistics.crossings`, computed for all places at once; a test compares the two
(tests/statistics/test_crossings.py). For some designs, the percentile interval of a bootstrap stands beside them, which
draws seeds and rows with replacement, 500 times for each study: give it fewer studies.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.special import stdtrit
from statistics_simulation import LEVEL, STUDIES, Rate

from benchrunner.statistics.crossings import STEPS, Crossings, Stretch

PLACES = (16.0, 64.0, 256.0, 1024.0, 4096.0)
EQUAL = 128.0
"""The training rows at which both systems have the same quality."""
RESTARTS = (3, 5, 10)
RESAMPLES = 500
HARDNESS, OWN_HARDNESS, NOISE = 0.7, 0.4, 0.5
"""Deviations of what makes a dev row hard: for both systems, for one system, and in one fit."""
SPREAD = math.sqrt(HARDNESS**2 + OWN_HARDNESS**2 + NOISE**2)


@dataclass(frozen=True)
class Design:
    """How curves are drawn."""

    title: str
    rows: int = 500
    cluster: int = 1
    """Number of dev rows that share half of what makes them hard."""
    slope: float = 0.12
    """By how much the difference of the qualities rises where the training rows become e times as many."""
    sample_effect: float = 0.2
    """Deviation of the quality that a sample of 16 rows gives both systems; it falls with rows**0.25."""
    fit_effect: float = 0.15
    """The same of the quality of each fit."""
    ahead: float = 0.0
    """What is added to the quality of the second system everywhere."""
    collapse: float = 0.0
    """Share of fits with up to 64 rows that answer at random."""


DESIGNS = (
    Design("500 rows"),
    Design("200 rows", rows=200),
    Design("steep", slope=0.3),
    Design("flat", slope=0.04),
    Design("seeds vary twice as much", sample_effect=0.4, fit_effect=0.3),
    Design("seeds do not vary", sample_effect=0.0, fit_effect=0.0),
    Design("100 clusters of 5", cluster=5),
    Design("20 clusters of 25", cluster=25),
    Design("one fit in ten collapses", collapse=0.1),
)
BOOTSTRAPPED = ("500 rows", "steep", "seeds vary twice as much")
WITHOUT = (
    Design("equal everywhere", slope=0.0),
    Design("nearly equal at 16 rows", slope=0.1, ahead=0.22),
    Design("always ahead", slope=0.0, ahead=0.15),
)
"""Designs whose curves do not cross."""


@dataclass(frozen=True)
class Curves:
    """The drawn values of dev rows, 1 where an answer is right, (systems, places, restarts, rows)."""

    right: np.ndarray
    clusters: np.ndarray
    """The number of each row's cluster, (rows,)."""

    @property
    def differences(self) -> np.ndarray:
        """The values of the second system less those of the first, as means of clusters, (places, restarts, clusters).

        Clusters have equal sizes, so that these are the pseudo-values of accuracy.
        """
        values = self.right[1].astype(np.float64) - self.right[0]
        size = np.bincount(self.clusters)[0]
        return np.asarray(values.reshape(*values.shape[:2], -1, size).mean(axis=-1))

    @property
    def freedom(self) -> float:
        """The number of clusters with different answers, less one."""
        answers = self.right.reshape(-1, self.right.shape[-1])
        differing = (answers != answers[0]).any(axis=0)
        return max(1.0, len(np.unique(self.clusters[differing])) - 1.0)


def qualities(design: Design) -> np.ndarray:
    """Return the mean qualities of both systems, (systems, places)."""
    logs = np.log(np.array(PLACES) / EQUAL)
    slopes = np.array([-design.slope / 2, design.slope / 2])
    return np.asarray(0.6 + (0.12 + slopes[:, None]) * logs + np.array([0, design.ahead])[:, None])


def truth(design: Design) -> float:
    """Return where lines between the expected accuracies cross; nan if they do not."""
    effects = design.sample_effect**2 + design.fit_effect**2
    spread = np.sqrt(SPREAD**2 + effects * (np.array(PLACES) / PLACES[0]) ** -0.5)
    right = np.vectorize(NormalDist().cdf)(qualities(design) / spread)
    collapse = np.where(np.array(PLACES) <= 64, design.collapse, 0)
    expected = (1 - collapse) * right + collapse / 2
    return float(np.exp(crossing(expected[1] - expected[0])))


def crossing(differences: np.ndarray) -> float:
    """Return the logarithm of the last place where lines between differences cross 0; nan if they never do."""
    (changes,) = np.nonzero(differences[:-1] * differences[1:] < 0)
    if not len(changes):
        return math.nan
    before = changes[-1]
    share = differences[before] / (differences[before] - differences[before + 1])
    logs = np.log(PLACES)
    return float(logs[before] + share * (logs[before + 1] - logs[before]))


def curves(design: Design, restarts: int, draw: np.random.Generator) -> Curves:
    """Draw the curves of a study."""
    clusters = np.arange(design.rows) // design.cluster

    def difficulty(deviation: float) -> np.ndarray:
        shared = draw.normal(0, 1, design.rows // design.cluster)[clusters]
        own = draw.normal(0, 1, design.rows)
        share = 0.5 if design.cluster > 1 else 0.0
        return np.asarray(deviation * (math.sqrt(share) * shared + math.sqrt(1 - share) * own))

    less = (np.array(PLACES) / PLACES[0]) ** -0.25
    hardness = difficulty(HARDNESS)
    nested = draw.normal(0, 1, restarts) + draw.normal(0, 1, (len(PLACES), restarts))  # samples share rows
    samples = design.sample_effect * math.sqrt(0.5) * nested * less[:, None]
    systems = []
    for quality in qualities(design):
        fits = samples + draw.normal(0, design.fit_effect, samples.shape) * less[:, None]
        noise = draw.normal(0, NOISE, (*samples.shape, design.rows))
        own = difficulty(OWN_HARDNESS)
        right = (quality[:, None] + fits)[:, :, None] + hardness + own + noise > 0
        collapsed = (draw.random(samples.shape) < design.collapse) & (np.array(PLACES) <= 64)[:, None]
        chance = draw.random(right.shape) < 0.5
        systems.append(np.where(collapsed[:, :, None], chance, right))
    return Curves(np.stack(systems), clusters)


def drawn(design: Design, restarts: int, count: int) -> Iterator[Curves]:
    """Draw studies."""
    for number in range(count):
        yield curves(design, restarts, np.random.default_rng([number, restarts, *design.title.encode()]))


def found(study: Curves, places: tuple[float, ...] = PLACES) -> Crossings:
    """Return the crossings of a study, with intervals of 95 %."""
    values = study.differences
    count, draws, blocks = values.shape
    scores = values.mean(axis=2)
    of_rows = values.mean(axis=1)
    rest = values - of_rows[:, None] - scores[:, :, None] + values.mean(axis=(1, 2), keepdims=True)
    interaction = np.einsum("irb,jrb->ij", rest, rest) / ((draws - 1) * (blocks - 1) * draws * blocks)
    from_rows = np.cov(of_rows) / blocks - interaction
    from_draws = np.cov(scores) / draws
    between = np.linspace(0, count - 1, (count - 1) * STEPS + 1)
    weights = np.maximum(0, 1 - np.abs(between[:, None] - np.arange(count)))
    axis = np.exp(weights @ np.log(places))
    axis[::STEPS] = places
    half_squared = np.zeros(len(axis))
    for covariance, freedom in ((from_rows, study.freedom), (from_draws, draws - 1)):
        variances = np.maximum(0, ((weights @ covariance) * weights).sum(axis=1))
        half_squared += stdtrit(freedom, LEVEL / 2) ** 2 * variances
    return Crossings(places[0], places[-1], stretches(axis, weights @ scores.mean(axis=1), half_squared), 1 - LEVEL)


def stretches(axis: np.ndarray, differences: np.ndarray, half_squared: np.ndarray) -> tuple[Stretch, ...]:
    """Return the runs of places without a clear difference, and those around a change of its sign."""
    signed = np.flatnonzero(differences)
    changes = signed[:-1][np.diff(differences[signed] > 0)]
    unclear = differences**2 <= half_squared
    unclear[changes] = True
    edges = np.flatnonzero(np.diff(unclear, prepend=False, append=False))
    found = []
    for start, stop in zip(edges[::2], edges[1::2] - 1, strict=True):
        low, high = float(axis[start]), float(axis[stop])
        inside = changes[(start <= changes) & (changes <= stop)].tolist()
        for change in inside:
            found.append(Stretch(low, high, float(axis[change]), bool(differences[change] < 0)))
        if not inside:
            found.append(Stretch(low, high))
    return tuple(found)


def bootstrap(study: Curves, draw: np.random.Generator) -> tuple[float, float]:
    """Return the percentile interval of resamples of seeds and clusters; without a crossing, it is beyond an end."""
    values = study.differences
    places, restarts, clusters = values.shape
    counts = draw.multinomial(clusters, np.full(clusters, 1 / clusters), RESAMPLES)
    of_fits = (counts @ values.reshape(-1, clusters).T / clusters).reshape(RESAMPLES, places, restarts)
    logs = []
    for scores in of_fits:
        difference = scores[:, draw.integers(restarts, size=restarts)].mean(axis=1)
        at = crossing(difference)
        logs.append(at if math.isfinite(at) else math.copysign(math.inf, -difference[-1]))
    low, high = np.quantile(logs, [LEVEL / 2, 1 - LEVEL / 2], method="nearest")
    return math.exp(low), math.exp(high)


@dataclass(frozen=True)
class Outcome:
    """What a study says: of which places the interval consists, and whether it is closed on both sides."""

    holds: bool
    """Whether the truth is in one of the stretches."""
    holds_at_crossing: bool
    """Whether the truth is in a stretch in which the means cross."""
    crosses: bool
    """Whether the means cross."""
    closed: bool
    """Whether a stretch with a crossing ends on both sides within the axis."""


def outcome(study: Curves, true: float) -> Outcome:
    """Compare the crossings of a study with the true place."""
    result = found(study)
    holding = [stretch for stretch in result.stretches if stretch.low <= true <= stretch.high]
    crossed = [stretch for stretch in result.stretches if stretch.at is not None]
    closed = any(PLACES[0] < stretch.low and stretch.high < PLACES[-1] for stretch in crossed)
    return Outcome(bool(holding), any(stretch in crossed for stretch in holding), bool(crossed), closed)


def print_row(title: str, cells: Iterator[str]) -> None:
    """Print a row of a table in Markdown."""
    print(f"| {title} |", " | ".join(cells), "|", flush=True)


def print_header(title: str, columns: tuple[str, ...]) -> None:
    """Print the head of a table in Markdown."""
    print(f"\n{title}\n")
    print("| |", " | ".join(columns), "|")
    print("| --- |", " | ".join("---:" for _ in columns), "|")


def crossing_cell(design: Design, restarts: int, count: int) -> str:
    """Return how many intervals hold the crossing: all stretches / those of crossings alone (closed intervals)."""
    true = truth(design)
    said = [outcome(study, true) for study in drawn(design, restarts, count)]
    holds = Rate(sum(one.holds for one in said), count)
    at_crossing = Rate(sum(one.holds_at_crossing for one in said), max(1, sum(one.crosses for one in said)))
    closed = Rate(sum(one.closed for one in said), count)
    return f"{holds} / {at_crossing} ({closed})"


def bootstrap_cell(design: Design, restarts: int, count: int) -> str:
    """Return how many intervals hold the crossing: all stretches / the bootstrap."""
    true = truth(design)
    holds = 0
    drawn_hits = 0
    for number, study in enumerate(drawn(design, restarts, count)):
        holds += outcome(study, true).holds
        low, high = bootstrap(study, np.random.default_rng([number, 1]))
        drawn_hits += low <= true <= high
    return f"{Rate(holds, count)} / {Rate(drawn_hits, count)}"


def false_cell(design: Design, restarts: int, count: int) -> str:
    """Return how many studies say that there is a crossing, with a closed interval, where there is none."""
    closed = sum(outcome(study, math.nan).closed for study in drawn(design, restarts, count))
    return str(Rate(closed, count))


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=STUDIES, help="simulated studies of each cell")
    parser.add_argument("--only", choices=("crossing", "bootstrap", "none"), help="only this table")
    arguments = parser.parse_args()
    count: int = arguments.studies
    columns = tuple(f"{number} restarts" for number in RESTARTS)
    if arguments.only in (None, "crossing"):
        print_header(
            "Intervals that hold the crossing: all stretches / those of crossings (closed), in percent", columns
        )
        for design in DESIGNS:
            print_row(design.title, (crossing_cell(design, number, count) for number in RESTARTS))
    if arguments.only in (None, "bootstrap"):
        print_header("Intervals that hold the crossing: all stretches / the bootstrap, in percent", columns)
        for design in DESIGNS:
            if design.title in BOOTSTRAPPED:
                print_row(design.title, (bootstrap_cell(design, number, count) for number in RESTARTS))
    if arguments.only in (None, "none"):
        print_header("No crossing, and a closed interval of one, in percent", columns)
        for design in WITHOUT:
            print_row(design.title, (false_cell(design, number, count) for number in RESTARTS))


if __name__ == "__main__":
    main()
