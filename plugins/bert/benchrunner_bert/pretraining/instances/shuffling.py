"""Computed permutations: shuffle any number of indices without storing their order."""

from __future__ import annotations

_ROUNDS = 4
_WORD = (1 << 64) - 1
"""Mask of 64 bits."""


def shuffled(index: int, size: int, key: int) -> int:
    """Give the image of an index under a permutation of 0 to size - 1, which the key selects.

    A Feistel network permutes a power of four that is at least `size`; it is repeated until the result is below `size`.
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    while True:
        left, right = index >> half, index & mask
        for turn in range(_ROUNDS):
            left, right = right, left ^ (_mixed(right + (turn << half), key) & mask)
        index = left << half | right
        if index < size:
            return index


def _mixed(value: int, key: int) -> int:
    """Mix value and key, so that each of 64 bits depends on all bits of both (splitmix64, Steele et al. 2014)."""
    value = (value * 0x9E3779B97F4A7C15 + key) & _WORD
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
    return value ^ (value >> 31)
