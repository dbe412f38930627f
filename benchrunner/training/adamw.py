"""AdamW steps in torch's fused kernel, which reads and writes each number once and clips at no cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch


@final
@dataclass(frozen=True)
class AdamW:
    """AdamW with decoupled weight decay.

    The fused kernel is called directly: a `torch.optim.AdamW` computes the same bits, but the first one in a process
    imports torch's compiler, which costs more time than fifty steps of a small model.
    """

    beta1: float
    beta2: float
    epsilon: float
    bias_correction: bool
    """Whether the moments are corrected for having begun with zero."""

    def change(
        self,
        weights: Sequence[torch.Tensor],
        gradients: Sequence[torch.Tensor],
        means: Sequence[torch.Tensor],
        squares: Sequence[torch.Tensor],
        steps: Sequence[torch.Tensor],
        *,
        step: int,
        rate: float,
        decay: float,
        excess: torch.Tensor | None = None,
    ) -> None:
        """Change weights and moments of one device and one type.

        `steps` has the number of the step of each weight as a float32 scalar on its device, and `step` is that of the
        training, counted from 1. `excess` divides the gradients: see `clipping_divisor`.
        """
        epsilon = self.epsilon
        if not self.bias_correction:
            # The kernel computes m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + e). With this rate and epsilon, that is
            # lr * m / (sqrt(v) + e). The kernel multiplies the decay by its rate, so the decay is divided by it.
            first, second = 1 - self.beta1**step, (1 - self.beta2**step) ** 0.5
            rate, epsilon, decay = rate * first / second, epsilon / second, decay * second / first
        torch._fused_adamw_(
            list(weights),
            list(gradients),
            list(means),
            list(squares),
            [],
            list(steps),
            lr=rate,
            beta1=self.beta1,
            beta2=self.beta2,
            weight_decay=decay,
            eps=epsilon,
            amsgrad=False,
            maximize=False,
            grad_scale=excess,
        )


def clipping_divisor(gradients: Sequence[torch.Tensor], limit: float) -> torch.Tensor:
    """Return the number that divides gradients so that their norm is at most `limit`: 1 if the norm is below."""
    return ((torch.nn.utils.get_total_norm(gradients) + 1e-6) / limit).clamp(min=1.0)
