"""Estimates of the work that a command has left to do, for dry runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class CommandEstimate:
    """The work that a command has left to do. A plugin's command offers it by `set_defaults(estimate=FUNCTION)`.

    The function gets the parsed arguments and returns an estimate. It must not change anything.
    """

    left: str
    """What is left to do, in a few words, for example "900 of 1,000 steps"; empty if nothing is left."""
    flops: float | None = None
    """Floating-point operations that are left; None if they are not counted."""
    seconds: float | None = None
    """Seconds that are left on this machine, by what the command measured in an earlier run; None if it did not."""

    @property
    def is_done(self) -> bool:
        """Whether the command has nothing left to do, because its result is there already."""
        return not self.left
