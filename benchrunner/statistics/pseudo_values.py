"""Pseudo-values of the jackknife (Tukey 1958): they turn every metric into something like a mean over rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchrunner.errors import Undefined
from benchrunner.metrics import Metric
from benchrunner.statistics.resamples import NUMBERS_IN_MEMORY, is_fast, row_sums_of, scores_of_weights

if TYPE_CHECKING:
    import numpy as np

MOST_BLOCKS, MOST_SLOW_BLOCKS = 1_000, 200
"""Rows are left out one by one up to this number, and else in this number of blocks; the second is for metrics that are
computed anew for each block. The error of a variance from 200 blocks is about 10 %."""


def pseudo_values(metric: Metric, gold: Sequence[Any], restarts: Sequence[Sequence[Any]]) -> np.ndarray:
    """Return the pseudo-values of each restart, (restarts, blocks); a block is a row, unless there are many rows.

    The pseudo-value of a block is B * score - (B - 1) * score without the block, where B is the number of blocks. For
    accuracy and blocks of one row, it is 1 for a right and 0 for a wrong answer.
    """
    import numpy as np

    blocks = min(len(gold), MOST_BLOCKS if is_fast(metric) else MOST_SLOW_BLOCKS)
    if blocks < 2:
        raise Undefined("one row says nothing about other rows")
    scores = [_scores_without_blocks(metric, gold, answers, blocks) for answers in restarts]
    complete, without = (np.stack(parts) for parts in zip(*scores, strict=True))
    values = blocks * complete - (blocks - 1) * without
    if not np.isfinite(values).all():
        raise Undefined(f"{metric.name} has no value without some of the rows, so its error cannot be estimated")
    return np.asarray(values)


def _scores_without_blocks(
    metric: Metric, gold: Sequence[Any], answers: Sequence[Any], blocks: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the score of all rows, (1,), and the scores without one block of rows after another, (blocks,).

    Row i is in the block i modulo `blocks`, so that rows of the same text fall into different blocks.
    """
    import numpy as np

    block_of = np.arange(len(gold)) % blocks
    if metric.weighted is None and (row_sums := row_sums_of(metric)):
        values = row_sums.values(gold, answers)
        sums = np.stack([np.bincount(block_of, column, blocks) for column in values.T], axis=1)
        complete = sums.sum(axis=0, keepdims=True)
        return row_sums.scores(complete), row_sums.scores(complete - sums)
    function = scores_of_weights(metric, gold, answers)
    parts = [
        function((chunk[:, None] != block_of).astype(np.float64))
        for chunk in np.array_split(np.arange(blocks), -(-blocks * len(gold) // NUMBERS_IN_MEMORY))
    ]
    return function(np.ones((1, len(gold)))), np.concatenate(parts)
