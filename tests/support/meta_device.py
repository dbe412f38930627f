"""Training steps on the device `meta`, which computes shapes only, along the path that a GPU takes.

On `meta`, mixing devices, `.item()` and operators whose results have a size that depends on values raise an error. Such
code would fail on a GPU, or make the host wait for it.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from benchrunner.backbones.encoder import Encoder
from benchrunner.data.rows import Rows
from benchrunner.features.arrays import Features
from benchrunner.fits.computing import Computing
from benchrunner.methods.heads import Head, LinearHead
from benchrunner.parameters.recipes import Recipe
from benchrunner.problems.problem import Problem
from benchrunner.training.checkpoints import Checkpoint
from benchrunner.training.loop import Training
from kinds_of_tasks import PROBLEMS, rows_of_kind

HALF = frozenset(
    {functional.linear, torch.matmul, torch.mm, torch.bmm, torch.addmm, torch.baddbmm, torch.Tensor.matmul}
)
"""Functions whose arguments CUDA's autocast turns into half precision: those of its list that encoders use."""
FULL = frozenset({functional.layer_norm, functional.softmax, functional.cross_entropy, functional.mse_loss})
"""Functions whose arguments CUDA's autocast turns into fp32."""


class Operators(TorchDispatchMode):
    """Counts the operators that torch is given, apart from views, which compute nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = Counter[str]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        aliases = [result.alias_info for result in func._schema.returns]
        if not any(alias is not None and not alias.is_write for alias in aliases):
            self.counts[func.overloadpacket._qualified_op_name] += 1
        return func(*args, **(kwargs or {}))

    @property
    def total(self) -> int:
        return self.counts.total()


class Casts(TorchFunctionMode):
    """Casts the arguments of functions as CUDA's autocast does; torch has no autocast for `meta`."""

    def __init__(self) -> None:
        super().__init__()
        self.enabled = [False]
        self._weights = dict[int, torch.Tensor]()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.enabled[-1] and func in HALF:
            args, kwargs = tuple(map(self._half, args)), {name: self._half(value) for name, value in kwargs.items()}
        elif self.enabled[-1] and func in FULL:
            args = tuple(value.float() if _is_half(value) else value for value in args)
        return func(*args, **kwargs)

    def _half(self, value: object) -> object:
        """Cast fp32 to bf16; a weight is cast once, as long as autocast is on."""
        if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
            return value
        if not isinstance(value, torch.nn.Parameter):
            return value.bfloat16()
        if id(value) not in self._weights:
            self._weights[id(value)] = value.bfloat16()
        return self._weights[id(value)]

    @contextmanager
    def autocast(self, device_type: str, dtype: torch.dtype = torch.bfloat16, enabled: bool = True) -> Iterator[None]:
        """Stand for `torch.autocast`."""
        assert device_type == "meta" and dtype == torch.bfloat16
        self.enabled.append(enabled)
        try:
            yield
        finally:
            self.enabled.pop()
            if not any(self.enabled):
                self._weights.clear()


def _is_half(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16


def features_of_kind(kind: str, encoder: Encoder, recipe: Recipe) -> Features:
    """Encode made-up rows of a kind of task."""
    problem, rows = PROBLEMS[kind], Rows(pa.table(rows_of_kind(kind, 24, 1)), "made up")
    features: Features = problem.encode(problem.check(rows, labelled=True), encoder, recipe, training=True)
    return features


def training_on_meta(
    encoder: Encoder, problem: Problem, features: Features, recipe: Recipe, folder: Path, head: Head | None = None
) -> Training:
    """Make a training of an encoder and a head whose weights, and whose batches, are on the device `meta`."""
    encoder = encoder.to("meta")
    head = (head or LinearHead(encoder.hidden_size, problem.head, seed=4)).to("meta")
    return Training(
        model=lambda batch: head(encoder, batch),
        modules={"encoder": encoder.train(), "head": head},
        features=features,
        problem=problem,
        recipe=recipe,
        seed=4,
        computing=Computing("meta"),
        checkpoint=Checkpoint(folder / "checkpoint"),
        log=folder / "log.jsonl",
    )


def step_on_meta(training: Training, *, unused: tuple[str, ...] = ()) -> Operators:
    """Take the first training step, and return the operators of it.

    All weights must have gradients that fit, but for those whose names begin with `unused`.
    """
    casts = Casts()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "autocast", casts.autocast)
        with Operators() as operators, casts:
            loss = training._learn(0)
    assert loss.shape == () and loss.device.type == "meta"
    for name, weight in training.optimizer.named.items():
        if not name.startswith(unused):
            assert weight.grad is not None, name
            assert weight.grad.shape == weight.shape and weight.grad.dtype == weight.dtype, name
    return operators
