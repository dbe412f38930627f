"""Numbers in texts: one number, or several numbers separated by commas."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def numbers(kind: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """Make a reader of numbers that are separated by commas; it raises a `ValueError` that says what is wrong."""

    def values(text: str) -> tuple[T, ...]:
        try:
            return tuple(kind(part) for part in text.split(","))
        except ValueError:
            raise ValueError(f"'{text}' is not a list of numbers such as 1,2") from None

    return values


def number(kind: Callable[[str], T]) -> Callable[[str], T]:
    """Make a reader of one number; it raises a `ValueError` that says what is wrong."""

    def value(text: str) -> T:
        try:
            return kind(text)
        except ValueError:
            expected = "a whole number" if kind is int else "a number"
            raise ValueError(f"'{text}' is not {expected}") from None

    return value
