"""Exact search: of all passages, those with the largest inner products with a query; and names in arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

BLOCK = 4_096
"""Number of passages that are compared at once: memory holds (queries, BLOCK) products, not (queries, passages)."""


def search(
    queries: np.ndarray,
    passages: np.ndarray,
    depth: int,
    *,
    block: int = BLOCK,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the `depth` passages with the largest inner products with each query, or all if there are fewer.

    `queries` is (queries, hidden), `passages` (passages, hidden). Returns the numbers of the passages and the products,
    (queries, depth) each, the largest product first; of equal products, the passage with the lower number is first.
    """
    import numpy as np

    numbers = np.empty((len(queries), 0), dtype=np.int64)
    products = np.empty((len(queries), 0), dtype=np.float32)
    for first in range(0, len(passages), block):
        of_block = queries @ passages[first : first + block].T
        numbers_of_block = np.arange(first, first + of_block.shape[1])
        numbers = np.hstack([numbers, np.broadcast_to(numbers_of_block, of_block.shape)])
        products = np.hstack([products, of_block])
        best = np.argsort(-products, axis=1, kind="stable")[:, :depth]
        numbers = np.take_along_axis(numbers, best, axis=1)
        products = np.take_along_axis(products, best, axis=1)
    return numbers, products


def as_numbers(names: Sequence[str]) -> np.ndarray:
    """Write names as numbers, fp64 (names, words of the longest): four bytes of UTF-8 are a whole number."""
    import numpy as np

    texts = [name.encode() for name in names]
    longest = max(map(len, texts))
    width = 4 * max(1, -(-longest // 4))
    joined = b"".join(text.ljust(width, b"\0") for text in texts)
    words = np.frombuffer(joined, dtype="<u4").reshape(len(texts), -1)
    return words.astype(np.float64)


def as_names(numbers: np.ndarray) -> list[str]:
    """Read the names that `as_numbers` wrote."""
    words = numbers.astype("<u4")
    return [row.tobytes().rstrip(b"\0").decode() for row in words]
