"""The state of an unfinished fit: one safetensors file, replaced in one step."""

from __future__ import annotations

from pathlib import Path

import torch

from benchrunner.files import write_atomically
from benchrunner.training.optimizer import Optimizer


class Checkpoint:
    """File with weights, Adam's moments and the step. Data order and dropout are drawn again from seed and step.

    A resumed fit gives the same bits as an unbroken fit if the machine and the number of threads are the same. With
    another number of threads, PyTorch adds numbers in another order, so the last bits differ.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "state.safetensors"
        self.threads = [torch.get_num_threads()]
        """Numbers of threads that computed the steps, in order: several if the fit was resumed with another number."""

    def save(self, step: int, micro_tokens: int, optimizer: Optimizer) -> None:
        """Write the state after `step` steps, in place of an older one."""
        from safetensors.torch import save_file

        tensors = {name: tensor.contiguous() for name, tensor in optimizer.state()}
        threads = ",".join(map(str, self.threads))
        facts = {"step": str(step), "micro_tokens": str(micro_tokens), "threads": threads}
        write_atomically(self._file, lambda part: save_file(tensors, part, metadata=facts))

    def load(self, optimizer: Optimizer) -> tuple[int, int] | None:
        """Restore the optimizer's state and return (step, micro_tokens); None where there is no checkpoint."""
        from safetensors import safe_open

        if not self._file.exists():
            return None
        with safe_open(self._file, framework="pt") as file:
            facts = file.metadata()
            tensors: dict[str, torch.Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        earlier = [int(count) for count in facts.get("threads", "").split(",") if count]
        self.threads = earlier if earlier[-1:] == self.threads else [*earlier, *self.threads]
        step = int(facts["step"])
        optimizer.restore(tensors, step)
        return step, int(facts["micro_tokens"])
