"""Adam as in the paper's released code: decoupled weight decay, and no bias correction by default."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from benchrunner.engine import optimizer

MOMENTS = ("exp_avg", "exp_avg_sq")
"""Names of the state that Adam keeps for each parameter. ZeRO's partitioning looks for these names."""


class PaperAdam(torch.optim.Optimizer):
    """Adam that reads the number of the step from its parameter groups, so that its state holds only the moments.

    All weights of a group change in one fused kernel, which reads and writes each number once.
    """

    def __init__(self, groups: Iterable[dict[str, Any]], adam: optimizer.AdamW) -> None:
        # DeepSpeed takes a step before the first one, to make the moments, with gradients of zero.
        super().__init__(groups, {"lr": 0.0, "weight_decay": 0.0, "step": 1})
        self._adam = adam
        self.excess: torch.Tensor | None = None
        """Divisor of the gradients that clips them, at least 1; the kernel divides while it reads the gradients."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update all weights with the `lr` and the `step` (counted from 1) of their groups."""
        for group in self.param_groups:
            alike = dict[tuple[torch.device, torch.dtype], list[torch.Tensor]]()
            for weight in group["params"]:  # DeepSpeed can offload some of a group's weights
                if weight.grad is not None and weight.numel():
                    alike.setdefault((weight.device, weight.dtype), []).append(weight)
            for weights in alike.values():
                self._update(weights, group)

    def _update(self, weights: list[torch.Tensor], group: dict[str, Any]) -> None:
        """Update weights of one device and one type."""
        for weight in weights:
            if not self.state[weight]:
                self.state[weight].update(fresh_moments(weight))
        step = torch.full((), float(group["step"]), device=weights[0].device)
        self._adam.change(
            weights,
            [weight.grad.to(weight.dtype) for weight in weights if weight.grad is not None],
            [self.state[weight][MOMENTS[0]] for weight in weights],
            [self.state[weight][MOMENTS[1]] for weight in weights],
            [step] * len(weights),
            self._adam.numbers(group["step"], group["lr"], group["weight_decay"]),
            excess=self.excess,
        )


def fresh_moments(weight: torch.Tensor) -> dict[str, torch.Tensor]:
    """Give the moments of a parameter before the first step."""
    return {name: torch.zeros_like(weight, memory_format=torch.preserve_format) for name in MOMENTS}
