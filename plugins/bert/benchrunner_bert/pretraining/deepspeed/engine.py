"""DeepSpeed behind one door: a model, its optimizer and their state, at any ZeRO stage and on any number of processes.

What DeepSpeed keeps in pieces is put together here, so that a checkpoint of ours is the same file whatever wrote it: a
run goes on exactly, also with more or fewer processes and at another stage. The few private names of DeepSpeed that
this needs are all in this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchrunner import CheckpointError, RequestError, first_line
from benchrunner.engine import decay_groups
from benchrunner_bert.pretraining.deepspeed.adam import MOMENTS, PaperAdam, fresh
from benchrunner_bert.pretraining.deepspeed.configuration import configuration
from benchrunner_bert.pretraining.deepspeed.processes import join_processes
from benchrunner_bert.pretraining.settings import Settings


class Engine:
    """One process's share of a training."""

    def __init__(self, model: nn.Module, settings: Settings, *, overrides: Mapping[str, Any] | None = None) -> None:
        deepspeed = join_processes()
        named = [(name, one) for name, one in model.named_parameters() if one.requires_grad]
        adam = PaperAdam(
            decay_groups((weight for _, weight in named), settings.weight_decay),
            beta1=settings.beta1,
            beta2=settings.beta2,
            epsilon=settings.epsilon,
            bias_correction=settings.bias_correction,
        )
        asked = configuration(settings, overrides or {})
        try:
            found = deepspeed.initialize(model=model, optimizer=adam, config=asked)
        except Exception as error:  # its checks raise many kinds; without a user's keys it has nothing to complain of
            if not overrides:
                raise
            raise RequestError(
                f"DeepSpeed cannot work with {', '.join(overrides)} of --deepspeed-config: {first_line(error)}"
            ) from None
        self._engine, self._deepspeed = found[0], deepspeed
        self.stage = int(self._engine.zero_optimization_stage())  # the user's own configuration may say another
        self.rank, self.world = torch.distributed.get_rank(), torch.distributed.get_world_size()
        self.device = torch.device(self._engine.device)
        self._named = [(name, one) for name, one in self._engine.module.named_parameters() if one.requires_grad]
        self._link()

    def __call__(self, batch: Any) -> Any:
        return self._engine(batch)

    @property
    def module(self) -> nn.Module:
        return self._engine.module  # type: ignore[no-any-return]

    def summed(self, *values: float) -> list[float]:
        """Each value's sum over all processes."""
        total = torch.tensor(values, dtype=torch.float64)
        if self.world > 1:
            total = total.to(self.device)
            torch.distributed.all_reduce(total)
        return total.tolist()

    def backward(self, loss: torch.Tensor, *, last: bool) -> None:
        """Add a micro-batch's gradients. Losses are shares of the whole batch's: DeepSpeed's mean is undone."""
        self._engine.set_gradient_accumulation_boundary(last)
        self._engine.backward(loss * self.world)
        if not last:
            self._engine.step()

    def step(self, step: int, lr: float) -> None:
        """Move the weights by the gradients so far; steps count from 0."""
        for group in self._engine.optimizer.param_groups:
            group["lr"], group["step"] = lr, step + 1
        self._engine.step()

    def state(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Weights and moments, whole, by name: to be asked of all processes at once."""
        for name, one in self._named:
            yield f"weight/{name}", self._weight(one)
            for moment in MOMENTS:
                yield f"{moment}/{name}", self._moment(one, moment)

    def weights(self) -> dict[str, torch.Tensor]:
        """The weights alone, whole, on the CPU."""
        return {name: self._weight(one).detach().cpu().clone() for name, one in self._named}

    def restore(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Put a state back, wherever it was written."""
        for name, one in self._named:
            self._set_weight(one, tensors[f"weight/{name}"])
            for moment in MOMENTS:
                self._set_moment(one, moment, tensors[f"{moment}/{name}"])

    def agrees(self, value: int) -> bool:
        """Whether all processes bring the same number, of at most 63 bits."""
        found = torch.tensor([value, -value], dtype=torch.int64, device=self.device)
        torch.distributed.all_reduce(found, op=torch.distributed.ReduceOp.MIN)
        return int(found[0]) == -int(found[1])

    def wait(self) -> None:
        """Until all processes are here."""
        torch.distributed.barrier()

    def write_shares(self, folder: Path, said: str) -> None:
        """DeepSpeed's own files: every process its share, all at once. `said` goes into the first process's file."""
        given = {"benchrunner": said} if self.rank == 0 else {}
        self._engine.save_checkpoint(str(folder.parent), tag=folder.name, client_state=given, save_latest=False)

    def read_shares(self, folder: Path) -> None:
        """The same again. DeepSpeed uses pickle: the files must be nobody else's."""
        try:
            found, _ = self._engine.load_checkpoint(str(folder.parent), tag=folder.name)
        except Exception as error:  # a file that is cut or damaged raises many kinds
            raise CheckpointError(f"{folder} cannot be read ({first_line(error)}).{_OTHER}") from None
        if found is None:
            raise CheckpointError(f"{folder}: DeepSpeed finds no checkpoint there.{_OTHER}")
        self._link()

    def close(self) -> None:
        """Let go of the other processes."""
        if torch.distributed.is_initialized():
            torch.distributed.barrier()
            torch.distributed.destroy_process_group()

    # What follows knows how DeepSpeed keeps things: whole at stage 0, in flat pieces from stage 1 on.

    def _link(self) -> None:
        """Fresh moments for every piece, tied to the parameters that they are of; left alone, DeepSpeed ties them
        after the first step of the first group of parameters, when the others have none."""
        zero = self._engine.optimizer
        for piece in (
            *getattr(zero, "single_partition_of_fp32_groups", ()),
            *getattr(zero, "fp32_partitioned_groups_flat", ()),
        ):
            if not zero.optimizer.state.get(piece):
                zero.optimizer.state[piece] = fresh(piece)
        if hasattr(zero, "_lazy_init_hp_params_optimizer_state"):
            zero._hp_optimizer_states_linked = False  # a state that was read has taken the place of the first one
            zero._lazy_init_hp_params_optimizer_state()

    def _weight(self, one: torch.Tensor) -> torch.Tensor:
        return one if self.stage == 0 else self._deepspeed.utils.safe_get_full_fp32_param(one)

    def _moment(self, one: torch.Tensor, name: str) -> torch.Tensor:
        if self.stage == 0:
            states: dict[str, torch.Tensor] = self._engine.optimizer.state[one] or fresh(one)
            return states[name]
        found: torch.Tensor = self._deepspeed.utils.safe_get_full_optimizer_state(one, name)
        return found

    @torch.no_grad()
    def _set_weight(self, one: torch.Tensor, value: torch.Tensor) -> None:
        value = value.to(self.device)
        if self.stage > 0:
            self._deepspeed.utils.safe_set_full_fp32_param(one, value)
        if self.stage < 3:
            one.copy_(value)
            return
        with self._deepspeed.zero.GatheredParameters([one], modifier_rank=0):
            if self.rank == 0:
                one.copy_(value)

    def _set_moment(self, one: torch.Tensor, name: str, value: torch.Tensor) -> None:
        value = value.to(self.device)
        if self.stage == 0:
            self._engine.optimizer.state[one][name] = value.clone()
        else:
            self._deepspeed.utils.safe_set_full_optimizer_state(one, value, name)


_OTHER = " Remove it: the run goes on from the checkpoint before it, if there is one."
