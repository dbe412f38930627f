"""Numbers and names in texts: one, or several separated by commas."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def numbers(kind: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """Make a reader of numbers that are separated by commas; it raises a `ValueError` that says what is wrong."""

    read = number(kind)
    examples = (
        "3, or several separated by commas, such as 2,3" if kind is int else "2e-5, or several, such as 2e-5,3e-5"
    )

    def values(text: str) -> tuple[T, ...]:
        try:
            return tuple(read(part) for part in text.split(","))
        except ValueError as reason:
            raise ValueError(f"{reason}; give one, such as {examples}") from None

    return values


def names(text: str) -> tuple[str, ...]:
    """Read names that are separated by commas; raise a `ValueError` if one is empty or stands twice."""
    read = tuple(name.strip() for name in text.split(","))
    if not all(read):
        raise ValueError(f"'{text}' has no name before or after a comma" if "," in text else "a name is empty")
    if twice := next((name for name in read if read.count(name) > 1), None):
        raise ValueError(f"'{text}' has {twice} twice")
    return read


def number(kind: Callable[[str], T]) -> Callable[[str], T]:
    """Make a reader of one number; it raises a `ValueError` that says what is wrong."""

    def value(text: str) -> T:
        try:
            return kind(text)
        except ValueError:
            expected = "a whole number" if kind is int else "a number"
            raise ValueError(f"'{text}' is not {expected}") from None

    return value
