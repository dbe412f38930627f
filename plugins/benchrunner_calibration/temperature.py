"""Temperatures: one number divides all logits of a fit (Guo et al. 2017), fitted on other rows than it is scored on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from benchrunner.results import Runner
from benchrunner_calibration.binning import Binning
from benchrunner_calibration.kept_answers import SystemAnswers, label_numbers, probabilities_of
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
    """For each restart, the temperatures of both halves of dev; only that of the selecting half, where half of dev
    selected."""
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

    Dev is cut as `--select-on-half` cuts it: clusters are in one half, labels divided evenly. Each half is scored with
    the temperature that the other fitted. Where half of dev selected already, this half fits the temperature, and the
    other, which all figures are of, is scored.
    """
    task, split = system.cell.cell.task, system.split
    planner = (system.cell.runner or runner).planner
    if planner.rows(task, split).half is not None:
        fitting = _selecting(system, runner)
        pairs = [_applied(answers, half) for answers, half in zip(system.restarts, fitting, strict=True)]
        temperatures = [halves[0] for _, halves in pairs]
        rule = f"fitted on the {len(fitting[0].gold):,} rows of {split} that selected, scored on the others"
    else:
        half = _half(system, runner)
        pairs = [_crossed(answers, half) for answers in system.restarts]
        temperatures = [fitted_temperature(answers) for answers in system.restarts]
        rule = f"each half of {split} is scored with the temperature that the other half fitted"
    after = [answers for answers, _ in pairs]
    return Temperature(
        Estimate.of(temperatures),
        tuple(halves for _, halves in pairs),
        estimates(after, system.units, binning),
        changes(system.restarts, after, system.units, binning),
        rule,
    )


def _applied(answers: LabelAnswers, fitting: LabelAnswers) -> tuple[LabelAnswers, tuple[float, ...]]:
    """Return answers at the temperature that other rows fit, and this temperature."""
    temperature = fitted_temperature(fitting)
    return answers.at_temperature(temperature), (temperature,)


def _crossed(answers: LabelAnswers, half: np.ndarray) -> tuple[LabelAnswers, tuple[float, ...]]:
    """Return answers of which each half has the temperature of the other, and the temperatures of both halves.

    `half` says of each row whether it is in the first half.
    """
    of_first, of_second = fitted_temperature(answers.taken(half)), fitted_temperature(answers.taken(~half))
    of_row = np.where(half, of_second, of_first)
    probabilities = softmax(answers.scores / of_row[:, None])
    return LabelAnswers(answers.gold, answers.given, probabilities), (of_first, of_second)


def _half(system: SystemAnswers, runner: Runner) -> np.ndarray:
    """Return for each row of a dev split whether it is in the first of the two halves, (rows,)."""
    runner = system.cell.runner or runner
    settings = replace(runner.workspace.settings, halve_dev=True)
    halving = runner.in_workspace(replace(runner.workspace, settings=settings))
    first = halving.planner.rows(system.cell.cell.task, system.split, selecting=True)
    assert first.half is not None
    is_first = np.zeros(system.rows, dtype=bool)
    is_first[list(first.half.numbers)] = True
    return is_first


def _selecting(system: SystemAnswers, runner: Runner) -> Sequence[LabelAnswers]:
    """Return the answers of each restart to the half of dev that selected."""
    task = system.cell.cell.task
    runner = system.cell.runner or runner
    rows = runner.planner.rows(task, system.split, selecting=True)
    gold = label_numbers(task, task.problem.gold(rows.table))
    answers = []
    for fit in system.cell.restarts:
        probabilities = probabilities_of(fit, task, rows, runner)
        answers.append(LabelAnswers(gold, probabilities.argmax(axis=1), probabilities))
    return answers
