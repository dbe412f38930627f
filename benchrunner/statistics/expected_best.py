"""The best dev score to expect of a number of trials (Dodge et al. 2019, "Show Your Work", section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence


def expected_best(scores: Sequence[float]) -> list[float]:
    """Return the expected best score of 1, 2, ..., n trials, where `scores` are the n trials that were made.

    A trial is a fit with hyper-parameters and a seed. The trials of each expected value are drawn from `scores` with
    replacement, so that the k-th value is the mean of the highest score over all n**k draws. The i-th smallest score is
    the highest of k draws with the probability (i / n)**k - ((i - 1) / n)**k.
    """
    count = len(scores)
    expected = []
    for trials in range(1, count + 1):
        powers = [(rank / count) ** trials for rank in range(count + 1)]
        expected.append(sum(score * (powers[i] - powers[i - 1]) for i, score in enumerate(sorted(scores), 1)))
    return expected
