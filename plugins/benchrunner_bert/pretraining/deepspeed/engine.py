"""DeepSpeed behind one class: a model, its optimizer and their state, at any ZeRO stage, on any number of processes.

DeepSpeed keeps the state in partitions. The engine puts them together, so that a checkpoint has the same content
whatever wrote it, and a run can continue with another number of processes and at another stage. Only this file uses
private attributes of DeepSpeed's objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from benchrunner import CheckpointError, RequestError
from benchrunner.engine import first_line, optimizer
from benchrunner_bert.pretraining.deepspeed.adam import MOMENTS, PaperAdam, fresh_moments
from benchrunner_bert.pretraining.deepspeed.configuration import clips_itself, configuration, decisive, stage_used
from benchrunner_bert.pretraining.deepspeed.processes import join_processes
from benchrunner_bert.pretraining.settings import Settings

_ADVICE = "Remove it: the run continues from the checkpoint before it, if there is one."


def host_group(device: torch.device, world: int) -> torch.distributed.ProcessGroup | None:
    """Make a group of all processes that exchanges what their processors hold; None for the group that they are in.

    Device groups, such as NCCL's, exchange tensors on devices alone: to read a sum is to wait for all steps before it.
    """
    if world == 1 or device.type == "cpu":
        return None
    return torch.distributed.new_group(backend="gloo")  # type: ignore[no-any-return]


class Engine:
    """The model and its optimizer in DeepSpeed, in one process of a training: steps, sums, whole weights."""

    def __init__(self, model: nn.Module, settings: Settings, options: Mapping[str, Any]) -> None:
        """Prepare a model for training. `options` replace keys of our configuration for DeepSpeed."""
        deepspeed = join_processes()
        self.rank = torch.distributed.get_rank()
        self.world = torch.distributed.get_world_size()
        self._adam = adam = PaperAdam(
            optimizer.decay_groups(
                [weight for weight in model.parameters() if weight.requires_grad], settings.weight_decay
            ),
            optimizer.AdamW(settings.beta1, settings.beta2, settings.epsilon, settings.bias_correction),
        )
        stage = stage_used(settings, options, world=self.world)
        config = configuration(settings, options, stage=stage)
        try:
            self._engine, *_ = deepspeed.initialize(model=model, optimizer=adam, config=config)
        except Exception as error:  # DeepSpeed's checks raise many kinds; our own configuration passes them
            if not options:
                raise
            raise RequestError(
                f"DeepSpeed cannot work with {', '.join(options)} of --deepspeed-config: {first_line(error)}"
            ) from None
        self._deepspeed = deepspeed
        self.stage = int(self._engine.zero_optimization_stage())  # a user's key may ask for another stage
        if self.world == 1 and self.stage == 0 and not decisive(options):
            # DeepSpeed would copy all gradients to one tensor, sum it over the only process, and copy it back.
            self._engine.enable_backward_allreduce = False
        self._clip = 0.0 if self.stage or clips_itself(options) else settings.clip
        self.device = torch.device(self._engine.device)
        self._hosts = host_group(self.device, self.world)
        named = self._engine.module.named_parameters()
        self._weights = {name: weight for name, weight in named if weight.requires_grad}
        self._link_moments()

    def __call__(self, batch: Any) -> Any:
        return self._engine(batch)

    def summed(self, *values: float) -> list[float]:
        """Give the sum of each value over all processes. The processors exchange the values, and wait for no device."""
        total = torch.tensor(values, dtype=torch.float64)
        if self.world > 1:
            torch.distributed.all_reduce(total, group=self._hosts)
        return total.tolist()

    def sums_of_all(self, sums: torch.Tensor) -> torch.Tensor:
        """Give the sums of a tensor's elements over all processes, on the device, without waiting for the device."""
        total = sums.to(self.device)
        if self.world > 1:
            torch.distributed.all_reduce(total)
        return total

    def backward(self, loss: torch.Tensor, *, last: bool) -> None:
        """Add the gradients of a micro-batch.

        The loss is a share of the whole batch's loss. DeepSpeed divides by the number of processes; this is undone.
        """
        self._engine.set_gradient_accumulation_boundary(last)
        self._engine.backward(loss * self.world)
        if not last:
            self._engine.step()

    def step(self, step: int, lr: float) -> None:
        """Update the weights with the gradients of step number `step`, counted from 0."""
        for group in self._engine.optimizer.param_groups:
            group["lr"], group["step"] = lr, step + 1
        if self._clip:
            gradients = [weight.grad for weight in self._weights.values() if weight.grad is not None]
            self._adam.excess = optimizer.clipping_divisor(gradients, self._clip)
        self._engine.step()

    def state(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Give whole weights and moments by name. All processes must call this together."""
        for name, weight in self._weights.items():
            yield f"weight/{name}", self._weight(weight)
            for moment in MOMENTS:
                yield f"{moment}/{name}", self._moment(weight, moment)

    def weights(self) -> dict[str, torch.Tensor]:
        """Give whole weights on the CPU. All processes must call this together."""
        return {name: self._weight(weight).detach().cpu().clone() for name, weight in self._weights.items()}

    def restore(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Set the weights and moments of `state`, whatever number of processes and stage they were saved with.

        Raises a `CheckpointError` if a tensor is missing or has another shape.
        """
        self._check_state(tensors)
        for name, weight in self._weights.items():
            self._set_weight(weight, tensors[f"weight/{name}"])
            for moment in MOMENTS:
                self._set_moment(weight, moment, tensors[f"{moment}/{name}"])

    def _check_state(self, tensors: Mapping[str, torch.Tensor]) -> None:
        for name, weight in self._weights.items():
            shape = tuple(getattr(weight, "ds_shape", weight.shape))  # at stage 3 a weight itself is empty
            for part in ("weight", *MOMENTS):
                tensor = tensors.get(f"{part}/{name}")
                if tensor is None or tuple(tensor.shape) != shape:
                    found = "is missing" if tensor is None else f"has the shape {tuple(tensor.shape)}, not {shape}"
                    raise CheckpointError(f"The checkpoint is not one of this model: {part}/{name} {found}. {_ADVICE}")

    def agrees(self, value: int) -> bool:
        """Whether all processes have the same number, of at most 63 bits."""
        bounds = torch.tensor([value, -value], dtype=torch.int64, device=self.device)
        torch.distributed.all_reduce(bounds, op=torch.distributed.ReduceOp.MIN)
        return int(bounds[0]) == -int(bounds[1])

    def close(self) -> None:
        """Disconnect from the other processes, as soon as all of them call this."""
        if torch.distributed.is_initialized():
            torch.distributed.barrier(device_ids=None if self.device.type == "cpu" else [self.device.index])
            torch.distributed.destroy_process_group()

    # The methods below know how DeepSpeed stores weights: whole at stage 0, in flat partitions from stage 1 on.

    def _link_moments(self) -> None:
        """Create the moments of every partition and link them to their parameters.

        DeepSpeed would link them after the first step of the first group, when the other groups have no moments yet.
        """
        optimizer = self._engine.optimizer
        for partition in (
            *getattr(optimizer, "single_partition_of_fp32_groups", ()),
            *getattr(optimizer, "fp32_partitioned_groups_flat", ()),
        ):
            if not optimizer.optimizer.state.get(partition):
                optimizer.optimizer.state[partition] = fresh_moments(partition)
        if hasattr(optimizer, "_lazy_init_hp_params_optimizer_state"):
            optimizer._lazy_init_hp_params_optimizer_state()

    def _weight(self, weight: torch.Tensor) -> torch.Tensor:
        return weight if self.stage == 0 else self._deepspeed.utils.safe_get_full_fp32_param(weight)

    def _moment(self, weight: torch.Tensor, name: str) -> torch.Tensor:
        if self.stage == 0:
            moments: dict[str, torch.Tensor] = self._engine.optimizer.state[weight] or fresh_moments(weight)
            return moments[name]
        moment: torch.Tensor = self._deepspeed.utils.safe_get_full_optimizer_state(weight, name)
        return moment

    @torch.no_grad()
    def _set_weight(self, weight: torch.Tensor, value: torch.Tensor) -> None:
        value = value.to(self.device)
        if self.stage == 3:
            self._deepspeed.utils.safe_set_local_fp32_param(weight, self._part(weight, value))
        elif self.stage > 0:
            self._deepspeed.utils.safe_set_full_fp32_param(weight, value)
        if self.stage < 3:
            weight.copy_(value)
            return
        with self._deepspeed.zero.GatheredParameters([weight], modifier_rank=0):
            if self.rank == 0:
                weight.copy_(value)

    def _set_moment(self, weight: torch.Tensor, name: str, value: torch.Tensor) -> None:
        value = value.to(self.device)
        if self.stage == 0:
            self._engine.optimizer.state[weight][name] = value.clone()
        elif self.stage == 3:
            self._deepspeed.utils.safe_set_local_optimizer_state(weight, self._part(weight, value), name)
        else:
            self._deepspeed.utils.safe_set_full_optimizer_state(weight, value, name)

    def _part(self, weight: Any, value: torch.Tensor) -> torch.Tensor:
        """Cut the part of this process from a whole tensor at stage 3; the last part ends with padding."""
        size = weight.ds_tensor.ds_numel
        padded = nn.functional.pad(value.flatten(), (0, size * self.world - value.numel()))
        return padded[size * self.rank : size * (self.rank + 1)]
