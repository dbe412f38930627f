"""Subclasses in which one method does something else, for tables of broken methods and problems."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn


def changed(base: type, method: str, change: Callable[..., Any]) -> Any:
    """Make a subclass whose method is `change`, which gets the usual method and its arguments."""

    def call(self: object, *given: Any, **named: Any) -> Any:
        return change(partial(getattr(base, method), self), *given, **named)

    return type(f"Changed{base.__name__}", (base,), {method: call})


def raising(error: Exception) -> Callable[..., NoReturn]:
    """Make a change that raises an error."""

    def change(*given: Any, **named: Any) -> NoReturn:
        raise error

    return change
