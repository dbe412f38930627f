"""Pseudo-values of the jackknife (Tukey 1958), whose mean over the rows estimates the score, for every metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchrunner.errors import Undefined
from benchrunner.statistics.scored_answers import ScoredAnswers

if TYPE_CHECKING:
    import numpy as np

MOST_BLOCKS, MOST_SLOW_BLOCKS = 1_000, 200
"""Largest numbers of blocks that are left out in turn; with fewer rows, each row is a block. The second number is for
metrics that are computed anew for each block. The error of a variance from 200 blocks is about 10 %."""


def pseudo_values(restarts: Sequence[ScoredAnswers]) -> np.ndarray:
    """Return the pseudo-values of each restart, (restarts, blocks); a block is a row, unless there are many rows.

    The pseudo-value of a block is B * score - (B - 1) * score without the block, where B is the number of blocks. For
    accuracy and blocks of one row, it is 1 for a right and 0 for a wrong answer.
    """
    import numpy as np

    rows, metric = len(restarts[0].gold), restarts[0].metric
    blocks = min(rows, MOST_BLOCKS if restarts[0].is_fast else MOST_SLOW_BLOCKS)
    if blocks < 2:
        raise Undefined("there is only one row, and a comparison with other rows needs two or more")
    scores = [restart.scores_without_blocks(blocks) for restart in restarts]
    values = np.stack([blocks * complete - (blocks - 1) * without for complete, without in scores])
    if not np.isfinite(values).all():
        raise Undefined(f"{metric.name} has no value without some of the rows, so its error cannot be estimated")
    return np.asarray(values)
