"""Scales: the places of an axis's values in a drawing, and round values for its ticks."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import final

from benchrunner_report.drawings.chart import Axis

TINY = 1e-9
"""Values that differ by this share of the largest, or less, are equal: the rest is rounding."""
SPACE = 0.06
"""Space beyond the values at each end of an axis, as a share of what the values span."""


def is_constant(values: Collection[float]) -> bool:
    """Whether values differ by no more than rounding; also of no values."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return high - low <= TINY * max(abs(low), abs(high), 1.0)


@final
@dataclass(frozen=True)
class Scale:
    """Maps values, or their logarithms, to coordinates of a drawing."""

    axis: Axis
    low: float
    """The value, or its logarithm, at `start`."""
    high: float
    start: float
    """Coordinate of `low`."""
    end: float
    """Coordinate of `high`."""

    @classmethod
    def of(cls, axis: Axis, values: Iterable[float], start: float, end: float) -> Scale:
        """Return the scale of an axis between two coordinates; `values` are what it shows if it has no limits."""
        shown = list(axis.limits or filter(math.isfinite, values)) or [1.0]
        if axis.is_logarithmic:
            shown = list(map(math.log10, shown))
        low, high = min(shown), max(shown)
        space = 0.0 if axis.limits else SPACE * (high - low)
        if is_constant(shown):
            space = abs(high) * 0.02 or 1.0
        return cls(axis, low - space, high + space, start, end)

    def __call__(self, value: float) -> float:
        """Return the coordinate of a value; values beyond the ends are at the ends."""
        if self.axis.is_logarithmic:
            value = math.log10(value)
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + max(0.0, min(1.0, share)) * (self.end - self.start), 1)

    def ticks(self, most: float) -> list[float]:
        """Return the ticks of the axis; round values are at most `most` steps between its ends."""
        if self.axis.ticks or not self.axis.is_logarithmic:
            return list(self.axis.ticks or _round(self.low, self.high, most))
        low, high = 10**self.low, 10**self.high
        if high < 10 * low:
            return list(_round(low, high, most))
        values = [float(f"{10**power:.0e}") for power in _round(self.low, self.high, most)]
        return [value for value in values if low <= value <= high]


def _round(low: float, high: float, most: float) -> Iterator[float]:
    """Yield equally spaced round values between two values."""
    size = 10 ** math.floor(math.log10((high - low) / most))
    step = next(size * factor for factor in (1, 2, 5, 10, 20) if size * factor * most >= high - low)
    for number in range(math.ceil(low / step), math.floor(high / step) + 1):
        yield round(number * step, 10) + 0.0
