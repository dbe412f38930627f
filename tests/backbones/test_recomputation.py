"""Layers that are computed again in the backward pass."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from benchrunner.backbones.encoder import recompute
from benchrunner.results import Computing, Runner
from benchrunner.runs.fit_orders import FitOrder
from inline import QUICK, runner


class Dropping(nn.Module):
    """A layer that draws from torch's generator, and counts its passes."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.passes = nn.Linear(8, 8), 0

    def forward(self, states: torch.Tensor, *, scale: torch.Tensor) -> torch.Tensor:
        self.passes += 1
        dropped: torch.Tensor = nn.functional.dropout(self.linear(states), 0.5) * scale
        return dropped.relu()


def gradients(layer: Dropping) -> list[torch.Tensor]:
    """Compute the gradients of two passes through a layer."""
    torch.manual_seed(1)
    states, scale = torch.randn(5, 8), torch.ones((), requires_grad=True)
    layer(layer(states, scale=scale), scale=scale).sum().backward()
    weights = (*layer.parameters(), scale)
    return [weight.grad for weight in weights if weight.grad is not None]


def test_a_layer_drops_the_same_values_again() -> None:
    layer, again = Dropping(), Dropping()
    again.load_state_dict(layer.state_dict())
    recompute(again)
    pairs = list(zip(gradients(layer), gradients(again), strict=True))
    assert len(pairs) == 3 and all(torch.equal(*pair) for pair in pairs)
    assert (layer.passes, again.passes) == (2, 4)


def test_a_layer_is_computed_once_without_gradients() -> None:
    layer = Dropping()
    recompute(layer)
    with torch.no_grad():
        layer(torch.ones(2, 8), scale=torch.ones(()))
    assert layer.passes == 1


def test_the_second_pass_has_the_context_of_the_first() -> None:
    """Each context is made in its forward pass, and entered in the backward pass."""
    events: list[str] = []
    layer = Dropping()

    def again() -> object:
        number = sum(event.startswith("made") for event in events)
        events.append(f"made {number}")

        @contextmanager
        def entered() -> Iterator[None]:
            events.append(f"entered {number}")
            yield

        return entered()

    recompute(layer, again=again)  # type: ignore[arg-type]
    gradients(layer)
    assert events == ["made 0", "made 1", "entered 1", "entered 0"]


def test_recomputation_is_no_part_of_a_fit(tmp_path: Path) -> None:
    plain = runner(tmp_path)
    again = Runner(plain.plugins, plain.workspace, Computing("cpu", recompute=True))
    task = plain.plugins.tasks.find("mood")
    fits = [one.planner.plan(task, "tiny/words", recipe=QUICK) for one in (plain, again)]
    assert fits[0].id == fits[1].id
    assert (
        FitOrder.of(fits[1], again.fit_runner).computing.recompute
        and again.in_workspace(replace(again.workspace, runs=tmp_path / "other")).computing.recompute
    )
    assert plain.run(fits[0]) == again.run(fits[1]), "the finished fit is read"
