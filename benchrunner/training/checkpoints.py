"""The state of an unfinished fit: one safetensors file with its own checksum, replaced in one step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor

from benchrunner.errors import DamagedFile, first_line
from benchrunner.io.decoding import from_json
from benchrunner.io.files import remove, write_atomically
from benchrunner.io.json_form import as_json
from benchrunner.training.optimizer import Optimizer

_REMEDY = "The fit begins anew."


@final
@dataclass(frozen=True)
class _Facts:
    """What the file says beside its tensors."""

    of: str
    """Id of the fit."""
    step: int
    budgets: Mapping[int, int]
    """See `Training.budgets`."""
    computed: Mapping[str, tuple[Any, ...]]
    """See `Checkpoint.computed`."""
    captured: Mapping[int, bool]
    """See `Checkpoint.captured`."""


class Checkpoint:
    """File with weights, Adam's moments and the step. Data order and dropout are drawn again from seed and step.

    The state of a fit that takes only the first steps of this fit is a state of this fit as well.

    A resumed fit gives the same bits as an unbroken fit if the machine and the number of threads are the same. With
    another number of threads, PyTorch adds numbers in another order, so the last bits differ.
    """

    def __init__(
        self, folder: Path, *, of: str = "", shorter: str = "", kernels: str = "torch", devices: int = 1
    ) -> None:
        """`of` is the id of the fit, and `shorter` that of a fit which takes its first steps."""
        self._file = folder / "state.safetensors"
        self._of = of
        self._shorter = shorter
        self.computed: dict[str, tuple[Any, ...]] = {
            "threads": (torch.get_num_threads(),),
            "kernels": (kernels,),
            "devices": (devices,),
        }
        """What computed the steps: numbers of threads and devices, and kernels as `described` names them. Each has
        several values, in order, if the fit was resumed with others."""
        self.captured = dict[int, bool]()
        """Step, counted from 0 -> whether batches have fixed shapes, for CUDA graphs, from there on."""

    def save(
        self,
        step: int,
        budgets: Mapping[int, int],
        optimizer: Optimizer,
    ) -> None:
        """Write the state after `step` steps, in place of an older one. `budgets` is `Training.budgets`."""
        from safetensors.torch import save_file

        tensors = {name: tensor.cpu().contiguous() for name, tensor in optimizer.state()}
        facts = _Facts(self._of, step, budgets, self.computed, self.captured)
        written = json.dumps(as_json(facts))
        metadata = {"facts": written, "checksum": _checksum(written, tensors)}
        write_atomically(self._file, lambda part: save_file(tensors, part, metadata=metadata))

    def load(self, optimizer: Optimizer, steps: int | None = None) -> tuple[int, dict[int, int]] | None:
        """Restore the optimizer's state and return the step and the budgets; None where there is no checkpoint.

        `steps` is the number of all steps of the fit. A file that is damaged, or not a state of this fit, is removed
        with a `DamagedFile`; the optimizer is then as before.
        """
        if not self._file.exists():
            return None
        try:
            facts, tensors = self._read()
            if not 0 < facts.step <= (steps or facts.step):
                raise ValueError(f"it is said to be of step {facts.step:,}")
            for name, weight in optimizer.named.items():  # another version of a library may have other weights
                if tensors[f"weight/{name}"].shape != weight.shape:
                    raise ValueError(f"{name} has another shape than in this fit")
        except Exception as error:  # a file that is cut or damaged raises many kinds
            remove(self._file)
            raise DamagedFile(f"The checkpoint {self._file} was damaged ({first_line(error)}). {_REMEDY}") from None
        for name, now in self.computed.items():
            earlier = facts.computed[name]
            self.computed[name] = earlier if earlier[-1:] == now else earlier + now
        self.captured = dict(facts.captured)
        optimizer.restore(tensors)
        return facts.step, dict(facts.budgets)

    def _read(self) -> tuple[_Facts, dict[str, Tensor]]:
        """Read facts and tensors, whose checksum must be that of the file."""
        from safetensors import safe_open

        with safe_open(self._file, framework="pt") as file:
            metadata: dict[str, str] = file.metadata() or {}
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if metadata.get("checksum") != _checksum(metadata["facts"], tensors):
            raise ValueError("its content does not match its checksum")
        facts = from_json(_Facts, json.loads(metadata["facts"]), self._file)
        if facts.of not in (self._of, self._shorter):
            raise ValueError(f"it is the state of the fit {facts.of}")
        return facts, tensors


def _checksum(facts: str, tensors: Mapping[str, Tensor]) -> str:
    """Return the checksum of facts, and of tensors with their names, types and shapes."""
    import xxhash

    digest = xxhash.xxh3_128(facts.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        content = tensor.reshape(-1).view(torch.uint8)
        digest.update(content.numpy().data)
    return digest.hexdigest()
