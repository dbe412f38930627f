"""What a system costs: figures such as speed and memory, which a plugin measures, as tables show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Cost:
    """What a system costs in one quantity, such as its memory or its speed: a figure that a plugin measured."""

    system: str
    quantity: str
    unit: str
    """Empty for a mere number. A unit that ends in `/s` is a speed, of which more is better; of others, less is."""
    value: float | None
    """None if the quantity has no value, for the reason in `note`."""
    low: float | None = None
    """Low end of the value's interval; None without an interval."""
    high: float | None = None
    note: str = ""
    """How the quantity was measured and which systems differ in it, or why this system has no value."""

    @property
    def text(self) -> str:
        """The value as tables show it; empty if there is none."""
        return "" if self.value is None else prefixed(self.value)

    @property
    def interval_text(self) -> str:
        """The interval as tables show it; empty if there is none."""
        return "" if self.low is None or self.high is None else f"[{prefixed(self.low)}, {prefixed(self.high)}]"


def prefixed(value: float) -> str:
    """Write a number with three digits and the prefix of its unit: 4.39 M, 12.3 k, 500, 0.740."""
    size, prefix = 1.0, ""
    for larger, name in ((1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P")):
        if abs(value) >= 0.9995 * larger:
            size, prefix = larger, f" {name}"
    return f"{value / size:#.3g}".rstrip(".") + prefix
