"""The plan of a pre-training: when it logs, evaluates, saves checkpoints and exports models."""

from __future__ import annotations

from dataclasses import dataclass

from benchrunner import RequestError


@dataclass(frozen=True)
class Plan:
    """When the loop does more than learn."""

    checkpoint_steps: int = 1000
    keep: int = 2
    """Checkpoints."""
    shares: bool = False
    """In DeepSpeed's own format, each process its share, instead of whole."""
    log_steps: int = 10
    evaluate_steps: int = 1000
    held_out_instances: int = 256
    export_at: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("checkpoint_steps", "keep", "log_steps", "evaluate_steps", "held_out_instances"):
            if getattr(self, name) < 1:
                raise RequestError(f"{name} must be at least 1, not {getattr(self, name)}.")
