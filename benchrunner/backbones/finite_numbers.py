"""Checks that weights and outputs are finite numbers: a model with other numbers has diverged or was damaged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from benchrunner.errors import Diverged
from benchrunner.io.messages import some_names

if TYPE_CHECKING:
    import numpy as np
    import torch


def not_finite(tensors: Iterable[tuple[str, torch.Tensor]]) -> list[str]:
    """Return the names of the tensors that hold a NaN or an infinity. The device is waited for once."""
    import torch

    named = [(name, tensor.detach()) for name, tensor in tensors if tensor.is_floating_point()]
    if not named:
        return []
    # A sum with a NaN or an infinity is not finite either, and is nine times as fast as looking at each value. A sum
    # of large finite values may overflow, so a suspicious tensor is looked at value by value.
    sums = torch.stack([tensor.sum().float() for _, tensor in named])
    are_finite = sums.isfinite().tolist()
    return [
        name for (name, tensor), ok in zip(named, are_finite, strict=True) if not ok and not tensor.isfinite().all()
    ]


def check_weights(tensors: Iterable[tuple[str, torch.Tensor]], owner: str) -> None:
    """Raise `Diverged` if a weight is not finite. `owner` says whose weights these are, for the message."""
    if names := not_finite(tensors):
        raise Diverged(f"{owner} hold values that are not finite numbers: {some_names(names, 3)}")


def check_outputs(outputs: np.ndarray, origin: str) -> None:
    """Raise `Diverged` if the raw outputs of an example hold a NaN or plus infinity.

    Minus infinity is allowed: it is the output of an answer that is impossible. `origin` says which rows were asked.
    """
    import numpy as np

    if not np.issubdtype(outputs.dtype, np.floating):
        return
    bad = ~(outputs < np.inf)  # a NaN is not smaller than any number
    if bad.any():
        raise Diverged(
            f"{bad.reshape(len(outputs), -1).any(axis=1).sum():,} of {len(outputs):,} outputs for {origin} are not "
            "finite numbers"
        )
