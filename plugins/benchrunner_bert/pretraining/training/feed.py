"""What a process of a pre-training learns from in each step; on an accelerator, other processes make it ahead."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

import torch
from torch.utils.data import DataLoader, Dataset

from benchrunner_bert.pretraining.instances.batches import Packed, pack
from benchrunner_bert.pretraining.instances.instances import Instances
from benchrunner_bert.pretraining.settings import Settings

InstancesByLength = Mapping[int, Instances]
"""Length of sequences -> instances of this length."""
MOST_MAKERS = 8
"""Most processes that make batches for one accelerator. 256 pairs take 115 ms of a busy core; an H200 learned from them
with BERT-base in 60 ms."""


@final
@dataclass(frozen=True)
class Feed:
    """One process's share of the instances of each step, in as many parts as every other process has."""

    settings: Settings
    instances: InstancesByLength
    rank: int = 0
    """Number of this process."""
    world: int = 1
    """Number of processes."""

    def of_step(self, step: int) -> list[Packed]:
        """Make the parts of a step, counted from 0. They depend on the step alone."""
        size = self.settings.batch_size
        return self._parts(self.instances, self.settings.length_at(step), range(step * size, (step + 1) * size))

    def held_out(self, instances: InstancesByLength, length: int, count: int) -> Iterator[Packed]:
        """Make the parts of the first `count` held-out instances of a length, at least one for each process."""
        yield from self._parts(instances, length, range(max(count, self.world)))

    def part_count(self, sequences: int, length: int) -> int:
        """Give the number of parts in which every process computes its share; every part has a sequence or more."""
        at_once = max(1, self.settings.micro_tokens // length)
        share = math.ceil(sequences / self.world)
        return min(sequences // self.world, math.ceil(share / at_once))

    def _parts(self, instances: InstancesByLength, length: int, indices: range) -> list[Packed]:
        own = [instances[length].make(index) for index in indices[self.rank :: self.world]]
        count = self.part_count(len(indices), length)
        return [pack(own[start::count]) for start in range(count)]


def makers(device: torch.device) -> int:
    """Give the number of processes that make batches for this accelerator; 0 for a CPU, whose cores all compute."""
    if device.type == "cpu":
        return 0
    cores = len(os.sched_getaffinity(0)) // max(1, torch.accelerator.device_count())
    return min(MOST_MAKERS, max(1, cores - 1))


def made_ahead(feed: Feed, steps: range, processes: int) -> Iterator[list[Packed]]:
    """Make the parts of all steps in their order; with `processes`, so many processes are two steps each ahead.

    The processes end with the iterator, and when this process is killed.
    """
    if not processes:
        yield from map(feed.of_step, steps)
        return
    loader = DataLoader(
        _Steps(feed),
        batch_size=None,
        sampler=steps,
        num_workers=processes,
        collate_fn=_unchanged,
        worker_init_fn=_settle,
        multiprocessing_context="spawn",  # a fork would copy the state of CUDA and of DeepSpeed's threads
    )
    for made in loader:
        if isinstance(made, Exception):
            raise made
        yield made


@final
@dataclass(frozen=True)
class _Steps(Dataset[list[Packed] | Exception]):
    """A feed as torch reads it: step -> its parts, or the error that kept them from being made."""

    feed: Feed

    def __getitem__(self, step: int) -> list[Packed] | Exception:
        try:
            return self.feed.of_step(step)
        except Exception as error:  # raised by `made_ahead`: torch would add a traceback to the message
            return error


def _unchanged(made: list[Packed] | Exception) -> list[Packed] | Exception:
    return made


def _settle(maker: int) -> None:
    """Leave Ctrl-C to the process that trains, which finishes its step; end if that process is gone already.

    torch ends a maker whose parent changes, and sees no change if the parent was killed before the maker began.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        os._exit(1)
