"""Everything that is drawn, each from the seed and its own place: nothing depends on what was drawn before."""

from __future__ import annotations

import hashlib

import numpy as np
import torch


def derived(seed: int, *place: object) -> int:
    """A 63-bit seed for one place, such as ("order", epoch); places do not disturb each other."""
    text = repr((seed, *place)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little") >> 1


def generator(seed: int, *place: object) -> torch.Generator:
    """A generator on the CPU, so that fresh weights are the same on every device."""
    return torch.Generator().manual_seed(derived(seed, *place))


def permutation(size: int, seed: int, *place: object) -> np.ndarray:
    """An order of `size` things: int64 (size,)."""
    return np.random.Generator(np.random.PCG64(derived(seed, *place))).permutation(size)


class Dropout:
    """The dropout of one forward pass: a mask comes from (seed, pass, site), so recomputing a site gives it again."""

    def __init__(self, seed: int, *step: object) -> None:
        self._seed, self._step = seed, step

    def mask(self, shape: tuple[int, ...], rate: float, site: str, like: torch.Tensor) -> torch.Tensor:
        """1 with probability 1 - rate, else 0, in the type of `like` and where it is: scale by 1 / (1 - rate)."""
        place = derived(self._seed, "dropout", *self._step, site)
        if like.device.type != "cpu":
            source = torch.Generator(like.device).manual_seed(place)
            return (torch.rand(shape, device=like.device, generator=source) >= rate).to(like.dtype)
        # torch draws Bernoulli numbers one by one: 0.1 G a second. Sixteen random bits an element are 15 times as
        # fast and put the rate right to 1 / 65536.
        count = int(np.prod(shape, dtype=np.int64))
        words = np.random.SFC64(place).random_raw((count + 3) // 4)
        keep = words.view(np.uint16)[:count] >= np.uint16(min(round(rate * 65536), 65535))
        return torch.from_numpy(keep).view(shape).to(like.dtype)

    def __call__(self, x: torch.Tensor, rate: float, site: str) -> torch.Tensor:
        """x with a share of its elements zeroed and the rest scaled up."""
        if rate == 0.0:
            return x
        mask = self.mask(tuple(x.shape), rate, site, x)
        dropped: torch.Tensor = _Drop.apply(x, mask, 1 / (1 - rate))  # type: ignore[no-untyped-call]
        return dropped


class NoDropout(Dropout):
    """Evaluation."""

    def __init__(self) -> None:
        super().__init__(0)

    def __call__(self, x: torch.Tensor, rate: float, site: str) -> torch.Tensor:
        return x


class _Drop(torch.autograd.Function):
    """x * mask * scale; the scale stays out of the mask, where half precision would round it."""

    @staticmethod
    def forward(ctx, x, mask, scale):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(mask)
        ctx.scale = scale
        return (x * mask).mul_(scale)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        (mask,) = ctx.saved_tensors
        return (gradient * mask).mul_(ctx.scale), None, None
