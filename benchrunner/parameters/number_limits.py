"""Limits of whole numbers that users give: absurd numbers are refused before they cost time or memory."""

from __future__ import annotations

from benchrunner.errors import RequestError

LARGEST_SEED = 2**63 - 1
"""Largest seed that torch accepts as a whole number with a sign."""
_MOST_DIGITS = 15
"""Number of digits of a number that is written out in a message."""


def shortened(number: float) -> str:
    """Write a number with thousands separators. A very large number is written as a power of ten."""
    if not isinstance(number, int) or abs(number) < 10**_MOST_DIGITS:
        return f"{number:,}"
    power = int(abs(number).bit_length() * 0.30102999566398120)  # log10(2); str() refuses 4,300 digits
    return f"about {'-' if number < 0 else ''}10^{power}"


def check_at_most(name: str, number: float, largest: int) -> None:
    """Raise a `RequestError` if a number that a user gave is larger than `largest`."""
    if number > largest:
        raise RequestError(f"{name} must be at most {largest:,}, not {shortened(number)}.")


def check_seed(seed: int) -> None:
    """Raise a `RequestError` for a seed that no generator of random numbers takes."""
    if not 0 <= seed <= LARGEST_SEED:
        raise RequestError(f"A seed is a whole number from 0 to {LARGEST_SEED:,}, not {shortened(seed)}.")
