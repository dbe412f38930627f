"""AdamW with the paper's decay rules, clipping, and the released code's uncorrected variant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import nn

from benchrunner.recipes import Recipe


class Optimizer:
    """Everything between gradients and new weights."""

    def __init__(self, modules: Mapping[str, nn.Module], recipe: Recipe) -> None:
        self._recipe = recipe
        self.named = {
            f"{part}.{name}": one for part, module in modules.items() for name, one in module.named_parameters()
        }
        # Biases and LayerNorm are exactly the parameters with one dimension.
        groups = [
            {"params": [one for one in self.named.values() if one.ndim > 1], "weight_decay": recipe.weight_decay},
            {"params": [one for one in self.named.values() if one.ndim <= 1], "weight_decay": 0.0},
        ]
        self._adam = torch.optim.AdamW(
            [group for group in groups if group["params"]],
            lr=recipe.lr,
            betas=(recipe.beta1, recipe.beta2),
            eps=recipe.epsilon,
            fused=True,
        )
        self._decay = [group["weight_decay"] for group in self._adam.param_groups]

    def clear(self) -> None:
        for one in self.named.values():
            one.grad = None

    def step(self, step: int, lr: float) -> None:
        """Clip the gradients and move the weights; steps count from 0."""
        if self._recipe.clip:
            torch.nn.utils.clip_grad_norm_(self.named.values(), self._recipe.clip)
        rate, epsilon = lr, self._recipe.epsilon
        if not self._recipe.bias_correction:
            # m / (sqrt(v) + e) is what AdamW computes from m / (1 - b1^t) and v / (1 - b2^t) once the rate and
            # epsilon have the corrections taken out again; the decay must not feel the changed rate.
            first, second = 1 - self._recipe.beta1 ** (step + 1), (1 - self._recipe.beta2 ** (step + 1)) ** 0.5
            rate, epsilon = lr * first / second, self._recipe.epsilon / second
        for group, decay in zip(self._adam.param_groups, self._decay, strict=True):
            group["lr"], group["eps"] = rate, epsilon
            group["weight_decay"] = decay * lr / rate if rate else 0.0
        self._adam.step()

    def state(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Weights and moments by name; empty moments before the first step are left out."""
        for name, one in self.named.items():
            yield f"weight/{name}", one.detach()
            for moment in ("exp_avg", "exp_avg_sq"):
                if one in self._adam.state:
                    yield f"{moment}/{name}", self._adam.state[one][moment]

    def restore(self, tensors: Mapping[str, torch.Tensor], step: int) -> None:
        """The state after `step` steps."""
        for name, one in self.named.items():
            with torch.no_grad():
                one.copy_(tensors[f"weight/{name}"])
            if f"exp_avg/{name}" not in tensors:  # it had no gradient yet, as a pooler that nothing reads
                continue
            self._adam.state[one] = {
                "step": torch.tensor(float(step), device=one.device if one.device.type != "cpu" else None),
                "exp_avg": tensors[f"exp_avg/{name}"].to(one.device),
                "exp_avg_sq": tensors[f"exp_avg_sq/{name}"].to(one.device),
            }
