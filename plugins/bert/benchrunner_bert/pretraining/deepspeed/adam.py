"""Adam as the paper's released code has it: decoupled decay, and by default no bias correction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

MOMENTS = ("exp_avg", "exp_avg_sq")
"""What it keeps of each parameter, under the names that ZeRO's partitioning finds."""


class PaperAdam(torch.optim.Optimizer):
    """The step number is told, not counted: moments are its whole state, so a consolidated checkpoint is exact."""

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
        self._beta1, self._beta2, self._epsilon, self._corrects = beta1, beta2, epsilon, bias_correction

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """With `lr` and `step` (from 1) as the groups say."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._move(weight, group)

    def _move(self, weight: torch.Tensor, group: dict[str, Any]) -> None:
        state = self.state[weight]
        if not state:
            state.update(fresh(weight))
        mean, square = (state[name] for name in MOMENTS)
        mean.lerp_(weight.grad, 1 - self._beta1)
        square.mul_(self._beta2).addcmul_(weight.grad, weight.grad, value=1 - self._beta2)
        first = second = 1.0
        if self._corrects:
            first, second = 1 - self._beta1 ** group["step"], 1 - self._beta2 ** group["step"]
        update = (mean / first).div_((square / second).sqrt_().add_(self._epsilon))
        if group["weight_decay"]:
            update.add_(weight, alpha=group["weight_decay"])
        weight.sub_(update, alpha=group["lr"])


def fresh(weight: torch.Tensor) -> dict[str, torch.Tensor]:
    """The moments before the first step."""
    return {name: torch.zeros_like(weight, memory_format=torch.preserve_format) for name in MOMENTS}
