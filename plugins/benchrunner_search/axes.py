"""Axes of a grid: its points as places that Optuna's samplers propose."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, final

from benchrunner import Recipe

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Place = Mapping[str, int]
"""Name of an axis -> the number of a value on it."""


@final
class Axes:
    """The settings in which grid points differ, each with its values. Numbers are in ascending order."""

    def __init__(self, points: Sequence[Recipe]) -> None:
        settings = [point.as_dict() for point in points]
        self._values = dict[str, list[Any]]()
        for name in settings[0]:
            values = list(dict.fromkeys(of_point[name] for of_point in settings))
            if len(values) > 1:
                self._values[name] = sorted(values) if _are_numbers(values) else values
        self.places = dict[Recipe, Place]()
        for point, of_point in zip(points, settings, strict=True):
            self.places[point] = {name: values.index(of_point[name]) for name, values in self._values.items()}

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """What a sampler must know of the axes: neighbours on an axis of numbers are alike."""
        from optuna.distributions import CategoricalDistribution, IntDistribution

        distributions: dict[str, BaseDistribution] = {}
        for name, values in self._values.items():
            last = len(values) - 1
            is_ordered = _are_numbers(values)
            distributions[name] = IntDistribution(0, last) if is_ordered else CategoricalDistribution(range(last + 1))
        return distributions

    def nearest(self, place: Place, points: Collection[Recipe]) -> Recipe:
        """Return the point of `points` that is nearest to a place; of equally near ones the first."""
        return min(points, key=lambda point: self._distance(place, self.places[point]))

    def _distance(self, place: Place, other: Place) -> float:
        """Add up how far two places are apart, as shares of each axis."""
        distance = 0.0
        for name, values in self._values.items():
            steps = abs(place[name] - other[name])
            distance += steps / (len(values) - 1) if _are_numbers(values) else bool(steps)
        return distance


def _are_numbers(values: Sequence[object]) -> bool:
    return all(type(value) in (int, float) for value in values)
