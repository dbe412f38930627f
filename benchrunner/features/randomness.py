"""Random numbers, each drawn from the seed and the place of its use, so that no draw depends on earlier draws."""

from __future__ import annotations

import hashlib

import numpy as np
import torch


def derived(seed: int, *place: object) -> int:
    """Derive a 63-bit seed for one place of use, for example ("order", epoch). Other places have independent seeds."""
    text = repr((seed, *place)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little") >> 1


def generator(seed: int, *place: object) -> torch.Generator:
    """Return a generator for one place of use; on the CPU, so that fresh weights are equal on every device."""
    return torch.Generator().manual_seed(derived(seed, *place))


def permutation(size: int, seed: int, *place: object) -> np.ndarray:
    """Return the numbers from 0 to `size` - 1 in random order, int64 (size,)."""
    return np.random.Generator(np.random.PCG64(derived(seed, *place))).permutation(size)


class Dropout:
    """The dropout of one forward pass. A mask depends on seed, pass and site only, so a site can be computed again."""

    def __init__(self, seed: int, *step: object) -> None:
        self._seed, self._step = seed, step

    def seed(self, site: str) -> int:
        """Return a seed for a site in this pass, for code that draws its masks itself."""
        return derived(self._seed, "dropout", *self._step, site)

    def mask(self, shape: tuple[int, ...], rate: float, site: str, like: torch.Tensor) -> torch.Tensor:
        """Draw 1 with probability 1 - rate, else 0, with the type and device of `like`. Kept values are not scaled."""
        place = self.seed(site)
        if like.device.type != "cpu":
            source = torch.Generator(like.device).manual_seed(place)
            return (torch.rand(shape, device=like.device, generator=source) >= rate).to(like.dtype)
        # torch draws Bernoulli numbers one by one, 0.1 G per second. Sixteen random bits per element are 15 times as
        # fast, and the rate is right to 1 / 65536.
        count = int(np.prod(shape, dtype=np.int64))
        words = np.random.SFC64(place).random_raw((count + 3) // 4)
        keep = words.view(np.uint16)[:count] >= np.uint16(min(round(rate * 65536), 65535))
        # torch converts bytes four times as fast as truth values.
        return torch.from_numpy(keep.view(np.uint8)).view(shape).to(like.dtype)

    def within(self, place: str) -> Dropout:
        """Return the dropout of one place in this pass, whose sites have masks of their own."""
        return Dropout(self._seed, *self._step, place)

    def __call__(self, x: torch.Tensor, rate: float, site: str) -> torch.Tensor:
        """Set a share of the elements of `x` to zero, and scale the others up."""
        if rate == 0.0:
            return x
        mask = self.mask(tuple(x.shape), rate, site, x)
        dropped: torch.Tensor = _Drop.apply(x, mask, 1 / (1 - rate))  # type: ignore[no-untyped-call]
        return dropped


class NoDropout(Dropout):
    """No dropout, for evaluation."""

    def __init__(self) -> None:
        super().__init__(0)

    def within(self, place: str) -> Dropout:
        return self

    def __call__(self, x: torch.Tensor, rate: float, site: str) -> torch.Tensor:
        return x


class _Drop(torch.autograd.Function):
    """Computes x * mask * scale. The scale is not part of the mask, where half precision would round it."""

    @staticmethod
    def forward(ctx, x, mask, scale):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(mask)
        ctx.scale = scale
        return (x * mask).mul_(scale)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        (mask,) = ctx.saved_tensors
        return (gradient * mask).mul_(ctx.scale), None, None
