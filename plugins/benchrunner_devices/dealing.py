"""Dealing: which process computes which micro-batches of a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchrunner.engine import steps


def tokens_of_parts(training: steps.Training, step: int) -> list[int]:
    """Count the tokens of each micro-batch of a step."""
    return [int(training.features.unit_tokens[units].sum()) for units in training.parts(step)]


def dealt(tokens: Sequence[int], processes: int) -> list[list[int]]:
    """Deal micro-batches to processes, so that the process with the most tokens has few of them.

    `tokens` has the size of each micro-batch. The largest goes first, each to the process that has the fewest tokens.
    Return the numbers of the micro-batches of each process, in order; a process may get none.
    """
    shares: list[list[int]] = [[] for _ in range(processes)]
    loads = [0] * processes
    for number in sorted(range(len(tokens)), key=lambda number: -tokens[number]):
        process = loads.index(min(loads))
        shares[process].append(number)
        loads[process] += tokens[number]
    return [sorted(share) for share in shares]
