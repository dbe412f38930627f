"""The state of a training in DeepSpeed: what each process of a fit does in the steps that all take together."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import torch
from torch import Tensor, nn

from benchrunner import RequestError
from benchrunner.engine import Dropout, Job, steps

MOMENTS = ("exp_avg", "exp_avg_sq")


def port_of_zero() -> int:
    """Find a free port for DeepSpeed; raise a `RequestError` if DeepSpeed, or the plugin that drives it, is missing."""
    try:
        import deepspeed  # noqa: F401

        from benchrunner_bert.pretraining.deepspeed.launch import free_port
    except ImportError as error:
        raise RequestError(f"--zero needs DeepSpeed ({error}): pip install 'benchrunner[pretrain]'.") from None
    return free_port()


@contextlib.contextmanager
def launched(rank: int, processes: int, port: int) -> Iterator[None]:
    """Let DeepSpeed find the processes of a fit inside a `with` block, without the warnings of the libraries."""
    places = {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(processes),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    before = {name: os.environ.get(name) for name in places}
    os.environ.update(places)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@final
class Whole(nn.Module):
    """The modules of a training as one, which computes outputs in the recipe's precision."""

    def __init__(self, training: steps.Training) -> None:
        super().__init__()
        self.parts = nn.ModuleDict(training.modules)
        self._model = training.model
        self._kind = training.device.type
        self._casts = training.recipe.precision == "bf16"

    def forward(self, batch: Any) -> Tensor:
        """Compute the outputs of a batch. DeepSpeed ends an autocast that is around its engine, so it begins here."""
        with torch.autocast(self._kind, torch.bfloat16, enabled=self._casts):
            return self._model(batch)


@final
class Sharded:
    """A training whose weights, gradients and moments are DeepSpeed's. All processes call each method together."""

    def __init__(self, job: Job, training: steps.Training) -> None:
        from benchrunner_bert.pretraining.deepspeed.engine import Engine
        from benchrunner_bert.pretraining.settings import Settings

        if any(rate != 1 for rate in training.rates.values()):
            raise RequestError("--zero has one learning rate for all weights: leave --layer-decay out.")
        self._training = training
        self.shapes = {name: weight.shape for name, weight in training.optimizer.named.items()}
        self.unused = _frozen_without_gradient(training)
        recipe, computing = training.recipe, job.computing
        settings = Settings(
            weight_decay=recipe.decay,
            beta1=recipe.beta1,
            beta2=recipe.beta2,
            epsilon=recipe.epsilon,
            bias_correction=recipe.bias_correction,
            clip=recipe.clip,
            zero=computing.zero,
            offload=computing.offload,
        )
        own = {weight: name for name, weight in training.optimizer.named.items()}
        self._engine = Engine(Whole(training), settings, shares=True)
        named = self._engine.module.named_parameters()
        self.names = {name: own[weight] for name, weight in named if weight.requires_grad}
        """Name of a trained weight in DeepSpeed -> its name in the training."""

    def compute(self, step: int, numbers: Sequence[int], passes: int) -> Tensor:
        """Add up the gradients of some micro-batches of a step; return what all processes add to its mean loss.

        A process with fewer micro-batches than `passes` computes one more often, with a loss of zero: at the third
        stage the weights of a layer are gathered by all processes.
        """
        training = self._training
        divisor = training.loss_divisor(step)
        parts = training.parts(step)
        total = torch.zeros(1, device=training.device)
        for turn in range(passes):
            number = numbers[turn] if turn < len(numbers) else 0
            batch = training.means.batch(parts[number], Dropout(training.seed, step, number))
            loss = training.means.loss(self._engine(batch), batch, divisor)
            if turn >= len(numbers):
                loss = loss * 0.0
            total += loss.detach()
            self._engine.backward(loss, last=turn + 1 == passes)
        return self._engine.sums_of_all(total)[0]

    def step(self, step: int, lr: float) -> None:
        """Clip the gradients and change the weights. `step` counts from 0."""
        self._engine.step(step, lr)

    def state(self) -> Iterator[tuple[str, Tensor]]:
        """Give whole weights and moments by name, as the optimizer of one device does."""
        for name, tensor in self._engine.state():
            part, _, weight = name.partition("/")
            yield f"{part}/{self.names[weight]}", tensor
        for name, tensor in self.unused.items():
            yield f"weight/{name}", tensor

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Put back what `state` gave."""
        renamed = {}
        for name, own in self.names.items():
            for part in ("weight", *MOMENTS):
                renamed[f"{part}/{name}"] = tensors[f"{part}/{own}"]
        self._engine.restore(renamed)

    def release(self) -> None:
        """Give the training whole weights again, without DeepSpeed."""
        self._engine.release()
        for name in self.unused:
            self._training.means.optimizer.named[name].requires_grad_(True)

    def close(self) -> None:
        """Disconnect from the other processes."""
        self._engine.close()


def _frozen_without_gradient(training: steps.Training) -> dict[str, Tensor]:
    """Freeze the weights that have no gradient in the first micro-batch, such as an unused pooler's; return them.

    DeepSpeed would give them gradients of zero, with which weight decay changes them.
    """
    training.gradients(0, [0])
    unused = {}
    for name, weight in training.optimizer.named.items():
        if weight.grad is None:
            unused[name] = weight.detach().clone()
            weight.requires_grad_(False)
    training.optimizer.clear()
    return unused
