"""Exchange of tensors between the processes of a fit: by gloo between processors, and by NCCL between GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor, distributed

BLOCK = 2**26
"""Most numbers that are sent at once: one flat tensor of 256 MB in fp32 takes little memory beside a model."""


@final
class Exchange:
    """The tensors of a fit's processes: those of the leader reach all, and those of all are added up in the leader.

    All processes call the same methods in the same order, with tensors of the same shapes.
    """

    def __init__(self, meeting: Path, rank: int, processes: int, device: torch.device) -> None:
        """Connect with the other processes; `meeting` is a file that none of them has made yet. The leader's rank is 0.

        The group is this exchange's own: torch's default group stays as the user's program has it.
        """
        self._is_leader = rank == 0
        library: Any = distributed  # whose types leave out what is used here
        store = library.FileStore(str(meeting), processes)
        self._group: Any
        if device.type == "cuda":
            torch.cuda.set_device(device)
            self._group = library.ProcessGroupNCCL(store, rank, processes, library.ProcessGroupNCCL.Options())
        else:
            options = library.ProcessGroupGloo._Options()
            # This machine's own address: its name may be one that nobody can look up, as in many containers.
            options._devices = [library.ProcessGroupGloo.create_device(hostname="127.0.0.1")]
            self._group = library.ProcessGroupGloo(store, rank, processes, options)

    def spread(self, tensors: Sequence[Tensor]) -> None:
        """Give the leader's values of tensors to the other processes."""
        options = distributed.BroadcastOptions()
        options.rootRank = 0
        self._send(tensors, lambda flat: self._group.broadcast([flat], options), keeps=not self._is_leader)

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace the leader's values of tensors by the sums over all processes."""
        options = distributed.ReduceOptions()
        options.rootRank = 0
        self._send(tensors, lambda flat: self._group.reduce([flat], options), keeps=self._is_leader)

    @torch.no_grad()
    def _send(self, tensors: Sequence[Tensor], send: Callable[[Tensor], Any], *, keeps: bool) -> None:
        """Send tensors in few flat ones; with `keeps`, write what comes back into the tensors."""
        for block in blocks(tensors):
            flat = torch.cat([tensor.detach().reshape(-1) for tensor in block])
            send(flat).wait()
            if keeps:
                parts = torch.split(flat, [tensor.numel() for tensor in block])
                for tensor, part in zip(block, parts, strict=True):
                    tensor.copy_(part.view_as(tensor))


def blocks(tensors: Sequence[Tensor], most: int = BLOCK) -> Iterator[list[Tensor]]:
    """Cut a list of tensors into lists of one type, each with at most `most` numbers or with a single tensor."""
    block = list[Tensor]()
    numbers = 0
    for tensor in tensors:
        if block and (numbers + tensor.numel() > most or tensor.dtype != block[0].dtype):
            yield block
            block, numbers = [], 0
        block.append(tensor)
        numbers += tensor.numel()
    if block:
        yield block
