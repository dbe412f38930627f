"""Adam as in the paper's released code: decoupled weight decay, and no bias correction by default."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

MOMENTS = ("exp_avg", "exp_avg_sq")
"""Names of the state that Adam keeps for each parameter. ZeRO's partitioning looks for these names."""


class PaperAdam(torch.optim.Optimizer):
    """Adam that is told the number of the step in its groups, so that its whole state are the moments."""

    def __init__(
        self,
        groups: Iterable[dict[str, Any]],
        *,
        beta1: float,
        beta2: float,
        epsilon: float,
        bias_correction: bool,
    ) -> None:
        super().__init__(groups, {"lr": 0.0, "weight_decay": 0.0, "step": 0})
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon
        self._bias_correction = bias_correction

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update all weights with the `lr` and the `step` (counted from 1) of their groups."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._update(weight, group)

    def _update(self, weight: torch.Tensor, group: dict[str, Any]) -> None:
        state = self.state[weight]
        if not state:
            state.update(fresh_moments(weight))
        mean, square = (state[name] for name in MOMENTS)
        mean.lerp_(weight.grad, 1 - self._beta1)
        square.mul_(self._beta2).addcmul_(weight.grad, weight.grad, value=1 - self._beta2)
        first = second = 1.0
        if self._bias_correction:
            first, second = 1 - self._beta1 ** group["step"], 1 - self._beta2 ** group["step"]
        update = (mean / first).div_((square / second).sqrt_().add_(self._epsilon))
        if group["weight_decay"]:
            update.add_(weight, alpha=group["weight_decay"])
        weight.sub_(update, alpha=group["lr"])


def fresh_moments(weight: torch.Tensor) -> dict[str, torch.Tensor]:
    """Give the moments of a parameter before the first step."""
    return {name: torch.zeros_like(weight, memory_format=torch.preserve_format) for name in MOMENTS}
