"""Shares of the CPU's cores: how many fits run at the same time on a CPU, and with how many threads each.

Two fits with one thread each finish sooner than the same fits one after another with two threads (1.27 times on two
cores), since small matrix products scale badly over cores.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, final

from benchrunner.fits.executor import FitRunner
from benchrunner.fits.fit import Fit
from benchrunner.process.platform_facts import available_cores, memory_size

WORTH_FLOPS = 2e12
"""Least work of all fits together, in floating-point operations, for which worker processes are started: about 40
seconds of one core. Each worker takes 3 seconds of a core before its first fit."""
MEMORY_SHARE = 0.8
"""Largest share of the machine's memory that all fits together may take."""
EQUAL_COSTS = 1.5
"""Largest ratio between the costs of fits that end at about the same time."""


@final
@dataclass(frozen=True)
class CoreShares:
    """Number of fits at the same time, and the threads of each fit.

    The shares depend on the whole list of fits, finished ones included, and on the machine's size, but not on its
    state: threads can change the last bits of a result, and a command that was stopped and repeated must give equal
    bits.
    """

    jobs: int
    """Largest number of fits at the same time."""
    cores: int
    """Sum of the threads that run at the same time."""
    threads: Mapping[str, int]
    """Id of a fit -> its number of threads."""

    @classmethod
    def of(cls, fits: Sequence[Fit], jobs: int) -> Self:
        """Give each fit the same share, so that `jobs` fits use all cores."""
        threads = max(1, available_cores() // jobs)
        return cls(jobs, jobs * threads, {fit.id: threads for fit in fits})

    @property
    def text(self) -> str:
        """Part of a sentence for the user: the number of fits at the same time, and their threads."""
        counts = sorted(set(self.threads.values()))
        threads = " or ".join(str(count) for count in counts) + (" thread" if counts == [1] else " threads")
        return f"{self.jobs} at a time with {threads} each; --jobs 1 runs them one after another"


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Set the number of torch's threads within a `with` block."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def automatic_shares(fits: Sequence[Fit], runner: FitRunner) -> CoreShares | None:
    """Choose the shares of fits on a CPU; None if the fits run one after another in this process, with all cores."""
    cores = available_cores()
    trained = [fit for fit in fits if fit.backbone]
    can_share = cores > 1 and len(trained) > 1 and runner.has_installed_plugins
    if not can_share or not runner.computing.resolved().on_cpu_alone:
        return None
    costs = {fit.id: runner.cost(fit) for fit in trained}
    largest = max(cost.memory for cost in costs.values())
    jobs = min(cores, len(trained), int(MEMORY_SHARE * memory_size() // largest))
    flops = sum(cost.flops for cost in costs.values())
    if jobs < 2 or flops < WORTH_FLOPS:
        return None
    threads = {fit.id: cores // jobs for fit in fits}
    last = len(trained) % jobs
    if last:  # if the last fits are fewer than `jobs` and those before end at the same time, the last get all cores
        late_flops = [costs[fit.id].flops for fit in trained[-last - jobs :]]
        if max(late_flops) <= EQUAL_COSTS * min(late_flops):
            threads |= {fit.id: cores // last for fit in trained[-last:]}
    return CoreShares(jobs, cores, threads)
