"""What a command would do, for a plan of work that runs nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final


@final
@dataclass(frozen=True)
class CommandEstimate:
    """What a command would do if it was run now. A plugin's command gives it by `set_defaults(estimate=FUNCTION)`.

    The function takes the parsed arguments and must not change anything.
    """

    left: str
    """What is left to do, in a few words, for example "900 of 1,000 steps"; empty if nothing is left."""
    flops: float | None = None
    """Floating-point operations that are left; None if they are not counted."""
    seconds: float | None = None
    """Time that is left on this machine, as the command itself measured it before; None if it did not."""

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do."""
        return not self.left

    def as_json(self) -> dict[str, Any]:
        """Give the estimate as JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CommandEstimate:
        """Make an estimate from what `as_json` gives."""
        return cls(**data)
