"""Temperatures: one number divides all logits of a fit (Guo et al. 2017), fitted on other rows than it is scored on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from benchrunner.results import Runner
from benchrunner_calibration.binning import Binning
from benchrunner_calibration.kept_answers import SystemAnswers
from benchrunner_calibration.label_answers import LabelAnswers, softmax
from benchrunner_calibration.measures import Estimate, changes, estimates

LOWEST, HIGHEST = 0.05, 20.0
"""Limits of a temperature. Answers that are all right have no best temperature: the lower, the better."""


@final
@dataclass(frozen=True)
class Temperature:
    """The temperatures of a system's restarts, and what they change on rows that did not fit them."""

    of_all: Estimate
    """Fitted on all rows that may fit it: the one to use."""
    of_halves: tuple[tuple[float, ...], ...]
    """For each restart, the temperatures of both halves of dev."""
    after: dict[str, Estimate]
    """The figures with the temperatures, each row with a temperature that other rows fitted."""
    change: dict[str, Estimate]
    """Each figure with the temperatures less the figure without."""
    rule: str
    """Which rows fitted the temperature and which were scored, in one sentence."""


def fitted_temperature(answers: LabelAnswers) -> float:
    """Return the temperature with the highest likelihood of the right labels.

    The log loss is convex in 1 / temperature. Its slope is the expected score of a label less that of the right label.
    """
    from scipy.optimize import brentq

    scores = np.where(np.isneginf(answers.scores), 0.0, answers.scores)
    of_gold = np.take_along_axis(scores, answers.gold[:, None], axis=1)[:, 0]

    def slope(log_temperature: float) -> float:
        probabilities = softmax(answers.scores / np.exp(log_temperature))
        expected = (probabilities * scores).sum(axis=1)
        return float((expected - of_gold).mean())

    low, high = float(np.log(LOWEST)), float(np.log(HIGHEST))
    if slope(low) <= 0:  # even the lowest temperature leaves the right labels too little
        return LOWEST
    if slope(high) >= 0:
        return HIGHEST
    return float(np.exp(brentq(slope, low, high, xtol=1e-10)))


def temperature_of(system: SystemAnswers, runner: Runner, binning: Binning) -> Temperature:
    """Fit the temperatures of a system's restarts on dev, and score them on rows that did not fit them.

    Dev is cut in two halves: clusters are in one half, labels divided evenly. Each half is scored with the temperature
    that the other fitted.
    """
    task, split = system.cell.cell.task, system.split
    rows = (system.cell.runner or runner).planner.rows(task, split)
    half = np.zeros(len(rows), dtype=bool)
    half[task.divided(rows, 2, "halves")[1]] = True
    pairs = [_crossed(answers, half) for answers in system.restarts]
    after = [answers for answers, _ in pairs]
    rule = f"each half of {split} is scored with the temperature that the other half fitted"
    return Temperature(
        Estimate.of([fitted_temperature(answers) for answers in system.restarts]),
        tuple(halves for _, halves in pairs),
        estimates(after, system.units, binning),
        changes(system.restarts, after, system.units, binning),
        rule,
    )


def _crossed(answers: LabelAnswers, half: np.ndarray) -> tuple[LabelAnswers, tuple[float, ...]]:
    """Return answers of which each half has the temperature of the other, and the temperatures of both halves.

    `half` says of each row whether it is in the first half.
    """
    of_first, of_second = fitted_temperature(answers.taken(half)), fitted_temperature(answers.taken(~half))
    of_row = np.where(half, of_second, of_first)
    probabilities = softmax(answers.scores / of_row[:, None])
    return LabelAnswers(answers.gold, answers.given, probabilities), (of_first, of_second)
