"""Proposals of Optuna's samplers: which grid points are trained next, by the scores of those that were trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchrunner import Recipe
from benchrunner_optuna.axes import Axes

if TYPE_CHECKING:
    import optuna
    from optuna.samplers import BaseSampler

BATCH = 4
"""Number of grid points that are asked for together. The scores of a batch are told in the order in which it was asked
for, so that a search does not depend on which fit finishes first."""
FIRST_POINTS = 4
"""Number of grid points that are drawn before scores decide. Optuna's 10 are more than most searches here try."""
SEED = 0
"""Seed of all samplers: the same command tries the same grid points."""


def _tpe() -> BaseSampler:
    from optuna.samplers import TPESampler

    return TPESampler(seed=SEED, n_startup_trials=FIRST_POINTS)


def _gp() -> BaseSampler:
    from optuna.samplers import GPSampler

    return GPSampler(seed=SEED, n_startup_trials=FIRST_POINTS)


def _random() -> BaseSampler:
    from optuna.samplers import RandomSampler

    return RandomSampler(seed=SEED)


SAMPLERS: Mapping[str, tuple[str, Callable[[], BaseSampler]]] = {
    "gp": ("Optuna's Gaussian process tries --trials grid points, where it expects to improve the best score", _gp),
    "random": ("--trials grid points are drawn at random, by Optuna", _random),
    "tpe": ("Optuna's TPE tries --trials grid points, near those with good scores (Bergstra et al. 2011)", _tpe),
}
"""Name of a search -> what it does, and its sampler."""


def next_points(points: Sequence[Recipe], scores: Mapping[Recipe, float], *, sampler: str) -> list[Recipe]:
    """Return the points of the first batch that is not trained yet: empty if all points are.

    The batches before are asked for again and told their scores, so that an interrupted search decides alike.
    """
    search = _Replay(points, SAMPLERS[sampler][1])
    with _quiet():
        while batch := search.ask():
            waiting = [point for point in batch if point not in scores]
            if waiting:
                return waiting
            search.tell([scores[point] for point in batch])
    return []


class _Replay:
    """A search by a sampler from its beginning, batch by batch."""

    def __init__(self, points: Sequence[Recipe], sampler: Callable[[], BaseSampler]) -> None:
        self._axes = Axes(points)
        self._untried = dict.fromkeys(points)
        self._make = sampler
        self._study: optuna.Study | None = None
        self._asked: list[optuna.trial.Trial] = []

    def ask(self) -> list[Recipe]:
        """Ask for the next batch: the untried points that are nearest to what the sampler proposes."""
        import optuna

        if self._study is None:
            self._study = optuna.create_study(direction="maximize", sampler=self._make())
        batch = list[Recipe]()
        while self._untried and len(batch) < BATCH:
            point, trial = self._ask_one(self._study, self._untried)
            self._asked.append(trial)
            del self._untried[point]
            batch.append(point)
        return batch

    def _ask_one(self, study: optuna.Study, untried: Collection[Recipe]) -> tuple[Recipe, optuna.trial.Trial]:
        """Ask for a point; a proposal that was tried before fails, and the nearest untried point is asked for."""
        from optuna.trial import TrialState

        trial = study.ask(self._axes.distributions)
        point = self._axes.nearest(trial.params, untried)
        place = self._axes.place(point)
        if trial.params != place:
            study.tell(trial, state=TrialState.FAIL)
            study.enqueue_trial(dict(place))
            trial = study.ask(self._axes.distributions)
        return point, trial

    def tell(self, scores: Sequence[float]) -> None:
        """Tell the scores of the last batch; a point without a score failed."""
        from optuna.trial import TrialState

        assert self._study is not None
        for trial, score in zip(self._asked, scores, strict=True):
            if math.isfinite(score):
                self._study.tell(trial, score)
            else:
                self._study.tell(trial, state=TrialState.FAIL)
        self._asked.clear()


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Optuna's messages about each trial off standard error."""
    from optuna import logging

    before = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(before)
