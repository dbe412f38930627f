"""Kernels: operators of flat batches on CPUs that compiled code may compute in place of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor, nn


def described(kernels: Kernels | None) -> str:
    """Name what computes the operators of flat batches on a CPU, for numerics."""
    if kernels is None or not kernels.operators:
        return "torch"
    return f"{kernels.name} ({', '.join(kernels.operators)})"


_MEASURED = {"AVX512": "0.70 to 0.93", "AVX2": "0.80 to 0.99"}
"""Vector units, as torch names them -> medians of a training step in fp32 on one processor, of torch's time
(docs/proofs/speed.md)."""


def gain_of_kernels(capability: str) -> str:
    """Say what compiled kernels would gain on a processor; an empty text where nothing was measured."""
    if capability not in _MEASURED:
        return ""
    return (
        f"'pip install benchrunner-kernels' brings compiled operators: on another processor with {capability}, "
        f"training steps in fp32 took {_MEASURED[capability]} of torch's time"
    )


class Kernels(Protocol):
    """Compiled operators that a plugin offers, all of them differentiable.

    An operator returns None for tensors that it leaves to torch. Its dropout masks must depend on the seed and on the
    place of an element only, and its results must not depend on the number of threads.
    """

    @property
    def name(self) -> str:
        """What computes, with its version and vector units: part of the numerics of a fit."""

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators that can be used on this machine: names of the methods below, and of others that only the
        plugins of some models ask for, such as attention with distances."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What cannot be used on this machine, and why; one sentence each."""

    def attend(self, qkv: Tensor, starts: Tensor, sides: tuple[int, int], rate: float, seed: int) -> Tensor | None:
        """Let tokens attend to tokens of their own sequence: (T, 3, heads, size) -> (T, heads, size).

        Sequence i is tokens `starts[i]` to `starts[i + 1]`; other tokens get zeros. `sides` says how many tokens before
        and after itself a token attends to, -1 for all. `rate` is the dropout of the probabilities.
        """

    def add_and_norm(self, x: Tensor, residual: Tensor, norm: nn.LayerNorm, rate: float, seed: int) -> Tensor | None:
        """Compute norm(residual + dropout(x)): (T, width) -> (T, width)."""

    def gelu(self, x: Tensor) -> Tensor | None:
        """Compute x times the share of a normal distribution that is below x."""

    def norm(self, x: Tensor) -> Tensor:
        """Compute the Euclidean norm of a tensor in bf16; called only where `operators` contains "adamw"."""

    def adamw(
        self,
        weight: Tensor,
        gradient: Tensor,
        mean: Tensor,
        square: Tensor,
        copy: Tensor,
        *,
        step: int,
        divisor: float,
        lr: float,
        beta1: float,
        beta2: float,
        eps: float,
        weight_decay: float,
    ) -> None:
        """Change a weight and its moments, and write the weight to its copy in bf16; asked if `operators` has "adamw".

        The gradient is in fp32 or bf16, and is divided by `divisor`. `step` is the number of the step, from 1; the
        other numbers are those that torch's AdamW takes.
        """
