"""A stand-in for CUDA graphs on the CPU, which keeps operators and tensors as a graph does, and no line of Python.

A `Tape` records torch's operators with their arguments, and repeats them on the same tensors. Numbers that Python code
took from the recorded batch therefore stay what they were. As in a graph, a recording computes nothing, and results are
in a pool of memory that all graphs share: they are filled with NaN before each replay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchrunner_devices.graphs import GraphGenerators


class Operators(TorchDispatchMode):
    """Keeps the operators that are called, and what the tensors that they write to held before."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = list[tuple[Any, Any, Any, Any]]()
        self.before = dict[int, tuple[torch.Tensor, torch.Tensor]]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        for number, argument in enumerate(func._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                for tensor in tensors(kwargs.get(argument.name, args[number] if number < len(args) else None)):
                    self.before.setdefault(id(tensor), (tensor, tensor.clone()))
        results = func(*args, **kwargs)
        self.calls.append((func, args, kwargs, results))
        return results

    @property
    def results(self) -> Iterator[torch.Tensor]:
        """The tensors that operators made."""
        for func, _, _, results in self.calls:
            if all(result.alias_info is None for result in func._schema.returns):
                yield from tensors(results)


class Tape:
    """A recording of operators. `pool` holds all tapes that share memory."""

    def __init__(self, pool: list[Tape]) -> None:
        self.replays, self._pool, self._operators = 0, pool, Operators()
        pool.append(self)

    def record(self, function: Callable[[], torch.Tensor], generators: GraphGenerators) -> torch.Tensor:
        with self._operators:
            result = function()
        for tensor, content in self._operators.before.values():
            with torch.no_grad():
                tensor.copy_(content)
        self._forget()
        return result

    @torch.no_grad()
    def replay(self) -> None:
        self.replays += 1
        for tape in self._pool:
            tape._forget()
        for func, args, kwargs, results in self._operators.calls:
            again = func(*args, **kwargs)
            if all(result.alias_info is None for result in func._schema.returns):
                for tensor, content in zip(tensors(results), tensors(again), strict=True):
                    tensor.copy_(content)

    @torch.no_grad()
    def _forget(self) -> None:
        for tensor in self._operators.results:
            tensor.fill_(torch.nan if tensor.is_floating_point() else 0)


def tensors(values: Any) -> list[torch.Tensor]:
    """List the tensors among values, also in lists."""
    return [value for value in tree_leaves(values) if isinstance(value, torch.Tensor)]
