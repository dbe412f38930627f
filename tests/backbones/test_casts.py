"""Weights that are cast to bf16 together: the bits of autocast, with two operators in place of many."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import pytest
import torch
from torch import nn

from benchrunner.backbones.encoder import Encoder, StackedLinear


class Net(Encoder):
    """Two layers; the first is used twice, a part of it is frozen, and its norm computes in fp32."""

    autocasts_layers = True

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        shared = nn.Sequential(StackedLinear(8, 4, count=2), nn.LayerNorm(8), nn.Linear(8, 8))
        self.layers = nn.ModuleList([shared, nn.Linear(8, 8)])  # type: ignore[assignment, misc]
        self.outside = nn.Linear(8, 2)
        shared[2].bias.requires_grad_(False)

    def states(self, inputs: torch.Tensor) -> torch.Tensor:
        first, second = self.layers
        states: torch.Tensor = self.outside(second(first(first(inputs)).tanh()))
        return states

    assemble = hidden_states = summary = save = None  # type: ignore[assignment]


Net.__abstractmethods__ = frozenset()


def gradients(casting: Callable[[Net], AbstractContextManager[None]]) -> Iterator[torch.Tensor | None]:
    net = Net()
    with torch.autocast("cpu", torch.bfloat16):
        with casting(net):
            states = net.states(torch.linspace(-1, 1, 40).view(5, 8))
        states.float().square().sum().backward()  # type: ignore[no-untyped-call]
    yield states
    yield from (weight.grad for weight in net.parameters())


def test_weights_cast_together_give_the_bits_of_autocast() -> None:
    ours, torchs = list(gradients(Encoder.cast_together)), list(gradients(lambda net: nullcontext()))
    assert len(ours) == len(torchs) == 11
    for mine, usual in zip(ours, torchs, strict=True):
        assert (mine is None) == (usual is None)
        assert mine is None or usual is None or (mine.dtype == usual.dtype and torch.equal(mine, usual))


def test_trained_layers_read_copies_inside_the_block() -> None:
    net = Net()
    weights = dict(net.named_parameters())
    with pytest.raises(ZeroDivisionError), net.cast_together():
        kinds = {name: weight.dtype for name, weight in net.state_dict().items()}
        raise ZeroDivisionError
    lowered = {name for name, kind in kinds.items() if kind == torch.bfloat16}
    assert lowered == {"layers.0.0.weight", "layers.0.0.bias", "layers.0.2.weight", "layers.1.weight", "layers.1.bias"}
    assert all(weight is weights[name] for name, weight in net.named_parameters())


def test_layers_that_may_leave_autocast_are_left_alone() -> None:
    net = Net()
    net.autocasts_layers = False
    with net.cast_together():
        assert all(weight.dtype == torch.float32 for weight in net.state_dict().values())
