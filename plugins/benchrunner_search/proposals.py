"""Proposals of Optuna's samplers: which grid points are trained next, by the scores of those that were trained."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchrunner import Recipe
from benchrunner_search.axes import Axes

if TYPE_CHECKING:
    import optuna

BATCH = 4
"""Number of grid points that are asked for together. The scores of a batch are told in the order in which it was asked
for, so that a search does not depend on which fit finishes first."""
FIRST_POINTS = 4
"""Number of grid points that are drawn before scores decide. Optuna's 10 are more than most searches here try."""
SEED = 0
"""Seed of all samplers: the same command tries the same grid points."""


SAMPLERS: Mapping[str, tuple[str, str, Mapping[str, int]]] = {
    "gp": (
        "Optuna's Gaussian process tries --trials grid points, where it expects to improve the best score",
        "GPSampler",
        {"n_startup_trials": FIRST_POINTS},
    ),
    "random": ("--trials grid points are drawn at random, by Optuna", "RandomSampler", {}),
    "tpe": (
        "Optuna's TPE tries --trials grid points, near those with good scores (Bergstra et al. 2011)",
        "TPESampler",
        {"n_startup_trials": FIRST_POINTS},
    ),
}
"""Name of a search -> what it does, its class in Optuna, and the options of the class."""


def next_points(points: Sequence[Recipe], scores: Mapping[Recipe, float], *, sampler: str) -> list[Recipe]:
    """Return the points of the first batch that is not trained yet: empty if all points are.

    The batches before are asked for again and told their scores, so that an interrupted search decides alike.
    """
    with _quiet():
        search = _Replay(points, sampler)
        while batch := search.ask():
            if waiting := [point for point in batch if point not in scores]:
                return waiting
            search.tell([scores[point] for point in batch])
    return []


class _Replay:
    """A search by a sampler from its beginning, batch by batch."""

    def __init__(self, points: Sequence[Recipe], sampler: str) -> None:
        import optuna

        _, name, options = SAMPLERS[sampler]
        made = getattr(optuna.samplers, name)(seed=SEED, **options)
        self._study = optuna.create_study(direction="maximize", sampler=made)
        self._axes = Axes(points)
        self._untried = dict.fromkeys(points)
        self._asked: list[optuna.trial.Trial] = []

    def ask(self) -> list[Recipe]:
        """Ask for the next batch: the untried points that are nearest to what the sampler proposes.

        A proposal that was tried before fails, and the nearest untried point is asked for.
        """
        from optuna.trial import TrialState

        batch = list[Recipe]()
        while self._untried and len(batch) < BATCH:
            trial = self._study.ask(self._axes.distributions)
            point = self._axes.nearest(trial.params, self._untried)
            place = self._axes.places[point]
            if trial.params != place:
                self._study.tell(trial, state=TrialState.FAIL)
                self._study.enqueue_trial(dict(place))
                trial = self._study.ask(self._axes.distributions)
            self._asked.append(trial)
            del self._untried[point]
            batch.append(point)
        return batch

    def tell(self, scores: Sequence[float]) -> None:
        """Tell the scores of the last batch; a point without a score failed."""
        from optuna.trial import TrialState

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
