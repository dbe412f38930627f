"""The kernels that this installation has, each of them tested against torch before it is used."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import final

import torch
from torch import Tensor, nn

from benchrunner_kernels.library import TYPES, Library
from benchrunner_kernels.operators import AddAndNorm, Attend, Gelu, adamw, norm
from benchrunner_kernels.self_test import TESTS

FILE = Path(__file__).with_name("libkernels.so")
"""The compiled library; absent where there was no compiler when the distribution was installed."""
SLOWER = {"avx512": ("gelu",)}
"""Level of the library -> kernels that took longer than torch's where it was measured (docs/proofs/speed.md)."""
NOT_BUILT = (
    "benchrunner-kernels has no compiled library, so torch computes all operators: install a C++ compiler such as g++, "
    "then `pip install --force-reinstall --no-deps --no-binary :all: benchrunner-kernels`."
)


@final
@dataclass(frozen=True)
class CompiledKernels:
    """The operators of the compiled library that passed their tests. Everything else is left to torch."""

    name: str
    operators: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    library: Library | None = None

    def attend(self, qkv: Tensor, starts: Tensor, sides: tuple[int, int], rate: float, seed: int) -> Tensor | None:
        """Compute attention in fp32 or bf16; None for other types."""
        if "attend" not in self.operators or qkv.dtype not in TYPES:
            return None
        scale = qkv.shape[-1] ** -0.5
        output: Tensor = Attend.apply(self.library, qkv, starts, sides, scale, rate, seed)  # type: ignore[no-untyped-call]
        return output

    def attend_by_distance(
        self,
        qkv: Tensor,
        starts: Tensor,
        of_keys: Tensor | None,
        of_queries: Tensor | None,
        scale: float,
        rate: float,
        seed: int,
    ) -> Tensor | None:
        """Compute attention whose scores also depend on distances (He et al. 2021): (T, 3, heads, size) as `attend`.

        The score of query i and key j is `scale` times (q k + q of_keys[d] + of_queries[d] k), where d is
        j - i + longest - 1. Each table is (2 * longest - 1, heads, size), or None.
        """
        if "attend_by_distance" not in self.operators or qkv.dtype not in TYPES:
            return None
        tables = [None if table is None else table.float() for table in (of_keys, of_queries)]
        output: Tensor = Attend.apply(  # type: ignore[no-untyped-call]
            self.library, qkv, starts, (-1, -1), scale, rate, seed, *tables
        )
        return output

    def add_and_norm(self, x: Tensor, residual: Tensor, norm: nn.LayerNorm, rate: float, seed: int) -> Tensor | None:
        """Compute the norm of a sum in fp32, where x may be in bf16; None for other types, and norms without bias."""
        if "add_and_norm" not in self.operators or x.dtype not in TYPES or norm.bias is None:
            return None
        if not residual.dtype == norm.weight.dtype == norm.bias.dtype == torch.float32:
            return None
        y: Tensor = AddAndNorm.apply(  # type: ignore[no-untyped-call]
            self.library, x, residual, norm.weight, norm.bias, norm.eps, rate, seed
        )
        return y

    def gelu(self, x: Tensor) -> Tensor | None:
        """Compute GELU in fp32; None for other types."""
        if "gelu" not in self.operators or x.dtype != torch.float32:
            return None
        y: Tensor = Gelu.apply(self.library, x)  # type: ignore[no-untyped-call]
        return y

    def norm(self, x: Tensor) -> Tensor:
        """Compute the norm of a tensor in bf16."""
        assert self.library is not None
        return norm(self.library, x)

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
        **numbers: float,
    ) -> None:
        """Take a step of AdamW, and round the weight to its copy."""
        assert self.library is not None
        adamw(self.library, weight, gradient, mean, square, copy, step=step, divisor=divisor, **numbers)


def checked_kernels(file: Path = FILE) -> CompiledKernels:
    """Load the compiled library, and give those of its kernels that pass their tests."""
    version = f"benchrunner-kernels {metadata.version('benchrunner-kernels')}"
    if not file.is_file():
        return CompiledKernels(version, notes=(NOT_BUILT,))
    try:
        library = Library(file)
    except OSError as error:
        return CompiledKernels(version, notes=(f"The kernels cannot be loaded ({error}); torch computes instead.",))
    # Compilers differ in the last bits, so that the name says which library computed.
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:8]
    with torch.inference_mode(False), torch.enable_grad():
        wanted = {name: test for name, test in TESTS.items() if name not in SLOWER.get(library.level, ())}
        passed = {name: _passes(test, library) for name, test in wanted.items()}
    operators = tuple(name for name, passes in passed.items() if passes)
    failed = [name for name in passed if name not in operators]
    notes = tuple(
        f"The kernel '{name}' fails its test on this machine: torch computes in its place." for name in failed
    )
    return CompiledKernels(f"{version} {library.level} {digest}", operators, notes, library)


def _passes(test: Callable[[Library], bool], library: Library) -> bool:
    """Whether a kernel passes its test; an older library may lack the kernel."""
    try:
        return test(library)
    except AttributeError:
        return False
