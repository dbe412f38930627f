"""Random numbers, each drawn from the seed and the place of its use, so that no draw depends on earlier draws."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, SupportsIndex, final

import numpy as np
import torch
from torch import Tensor


def derived(seed: int, *place: object) -> int:
    """Derive a 63-bit seed for one place of use, for example ("order", epoch). Other places have independent seeds."""
    if not isinstance(seed, SupportsIndex):  # a generator, whose text would be another one in each process
        raise TypeError(f"a seed is a whole number, such as `job.fit.seed`, not a {type(seed).__name__}")
    text = repr((seed, *place))
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def generator(seed: int, *place: object) -> torch.Generator:
    """Return a generator for one place of use; on the CPU, so that fresh weights are equal on every device."""
    own_seed = derived(seed, *place)
    return torch.Generator().manual_seed(own_seed)


def permutation(size: int, seed: int, *place: object) -> np.ndarray:
    """Return the numbers from 0 to `size` - 1 in random order, int64 (size,)."""
    source = np.random.PCG64(derived(seed, *place))
    return np.random.Generator(source).permutation(size)


def torch_draws_masks(device: torch.device) -> bool:
    """Whether torch's kernels on a device draw masks, instead of numpy on the CPU: on CUDA, and on `meta` for tests."""
    return device.type in ("cuda", "meta")


class Dropout:
    """The dropout of one forward pass. A site that is computed again in the same pass gets the same mask.

    On the CPU a mask depends on seed, pass and site only. On CUDA the pass has one stream of random numbers, in which
    each site has a place of its own, in the order of the sites; a mask also depends on the kind of GPU.
    """

    def __init__(self, seed: int, *step: object, generators: Generators | None = None) -> None:
        """Describe a forward pass by seed and step. `generators` are for passes that a CUDA graph records."""
        self._seed = seed
        self._step = step
        self._generators = generators
        self._streams: dict[tuple[torch.device, str], _Stream] = {}

    @property
    def recorded(self) -> bool:
        """Whether a CUDA graph records this pass: it keeps every number that Python code draws now."""
        return self._generators is not None and self._generators.recorded

    def seed(self, site: str) -> int:
        """Return a seed for a site in this pass, for code that draws its masks itself; no CUDA graph records it."""
        if self.recorded:
            raise RuntimeError(f"a CUDA graph would keep the random numbers of '{site}' for all batches")
        return derived(self._seed, "dropout", *self._step, site)

    def mask(
        self,
        shape: tuple[int, ...],
        rate: float,
        site: str,
        like: Tensor,
    ) -> Tensor:
        """Draw 1 with probability 1 - rate, else 0, with the type and device of `like`. Kept values are not scaled."""
        if torch_draws_masks(like.device):
            with self.drawing(site, like.device):
                return torch.empty(shape, dtype=like.dtype, device=like.device).bernoulli_(1 - rate)
        place = self.seed(site)
        if like.device.type != "cpu":
            source = torch.Generator(like.device).manual_seed(place)
            keep = torch.rand(shape, device=like.device, generator=source) >= rate
            return keep.to(like.dtype)
        # torch draws Bernoulli numbers one by one, 0.1 G per second. Sixteen random bits per element are 15 times as
        # fast, and the rate is right to 1 / 65536.
        count = math.prod(shape)
        words = np.random.SFC64(place).random_raw((count + 3) // 4)  # of 64 bits
        numbers = words.view(np.uint16)[:count]
        threshold = min(round(rate * 65536), 65535)
        kept = numbers >= np.uint16(threshold)
        # torch converts bytes four times as fast as truth values.
        mask = torch.from_numpy(kept.view(np.uint8))
        return mask.view(shape).to(like.dtype)

    @contextmanager
    def drawing(
        self,
        site: str,
        device: torch.device,
        *,
        alone: bool = False,
    ) -> Iterator[None]:
        """Make a CUDA device's default generator give the random numbers of a site while the `with` block runs.

        After the block, the default generator is in the state that it had before. Nothing is read from the device.
        By default all sites of a pass share one stream of random numbers. Set `alone` for a site whose code enters
        other sites inside the block: the site then has a stream of its own, because in a shared stream the inner
        sites would take numbers out of the middle of its own.
        """
        if device.type != "cuda":
            yield
            return
        key = device, site if alone else ""
        if key not in self._streams:
            self._streams[key] = self._stream(*key)
        with self._streams[key].lent(site):
            yield

    def _stream(self, device: torch.device, name: str) -> _Stream:
        """Make the stream of random numbers that has this name, at its beginning."""
        if self._generators is None:
            source = torch.Generator(device).manual_seed(self.stream_seed(name))
        else:
            source = self._generators.of(device, name, self)
        return _Stream(source, recorded=self.recorded)

    def stream_seed(self, name: str) -> int:
        """Return the seed of a stream: "" names the stream that sites share; a site that is alone has its own."""
        place = (*self._step, name) if name else self._step
        return derived(self._seed, "dropout", *place)

    def drawn_by(self, generators: Generators) -> Dropout:
        """Return the dropout of the same pass with other generators."""
        return Dropout(self._seed, *self._step, generators=generators)

    def __call__(self, x: Tensor, rate: float, site: str) -> Tensor:
        """Set a share of the elements of `x` to zero, and scale the others up."""
        if rate == 0.0:
            return x
        if torch_draws_masks(x.device):
            with self.drawing(site, x.device):
                return torch.native_dropout(x, rate, True)[0]
        mask = self.mask(tuple(x.shape), rate, site, x)
        dropped: Tensor = _Drop.apply(x, mask, 1 / (1 - rate))  # type: ignore[no-untyped-call]
        return dropped


class NoDropout(Dropout):
    """No dropout, for evaluation."""

    def __init__(self) -> None:
        super().__init__(0)

    @contextmanager
    def drawing(
        self,
        site: str,
        device: torch.device,
        *,
        alone: bool = False,
    ) -> Iterator[None]:
        yield

    def __call__(self, x: Tensor, rate: float, site: str) -> Tensor:
        return x


class _Drop(torch.autograd.Function):
    """Computes x * mask * scale. The mask holds 0 and 1 only: in half precision, it would round the scale."""

    @staticmethod
    def forward(ctx, x, mask, scale):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(mask)
        ctx.scale = scale
        return (x * mask).mul_(scale)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        (mask,) = ctx.saved_tensors
        return (gradient * mask).mul_(ctx.scale), None, None


class Generators(Protocol):
    """The generators of passes of fixed shape, by the name of their streams."""

    recorded: bool
    """Whether the generators are those of a CUDA graph, and only the graph draws from them."""

    def of(self, device: torch.device, name: str, dropout: Dropout) -> torch.Generator:
        """Give the generator of a stream, with the seed of a pass unless a graph is recorded."""


@final
class _Stream:
    """The random numbers of one forward pass on one CUDA device, from a generator that is the pass's own."""

    def __init__(self, source: torch.Generator, *, recorded: bool) -> None:
        self._source = source
        self._recorded = recorded
        self._offsets: dict[str, int] = {}

    @contextmanager
    def lent(self, site: str) -> Iterator[None]:
        """Let the device's default generator give the numbers of a site: new ones, or those that the site had before.

        torch's fused kernels know no other generator. All of this is done on the host.
        """
        default = torch.cuda.default_generators[self._source.device.index]
        own = default.graphsafe_get_state()
        default.graphsafe_set_state(self._source)
        try:
            following = 0 if self._recorded else self._source.get_offset()
            if self._recorded and site in self._offsets:
                raise RuntimeError(f"'{site}' is computed twice in a pass, which a CUDA graph cannot repeat.")
            repeated = site in self._offsets
            place = self._offsets.setdefault(site, following)
            if repeated:
                self._source.set_offset(place)
            yield
            if repeated:
                self._source.set_offset(following)
        finally:
            default.graphsafe_set_state(own)
