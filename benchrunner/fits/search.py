"""Searches, which choose the grid points that are trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from benchrunner.parameters.recipes import Recipe


@final
@dataclass(frozen=True)
class Search:
    """A way to choose which grid points are trained, by the scores on dev of those that are trained already."""

    name: str
    about: str
    next_points: Callable[[Sequence[Recipe], Mapping[Recipe, float]], Sequence[Recipe]]
    """Returns the grid points that are trained next, at the same time, the most promising first; none ends the search.
    It is given all points, shorter trainings first, and the means over the restarts on dev of those that are trained
    already: minus infinity where no fit has a score. More is better: of a metric whose lower values are better, the
    means are negative.
    Equal arguments must give equal points, so that an interrupted search goes on as it began. Points that are trained
    already are not trained again."""
    has_trials: bool = False
    """Whether `--trials` says how many grid points are tried, each trained alone. A search without trials chooses among
    trainings of several lengths, which go on from shorter ones, and ends by itself."""
