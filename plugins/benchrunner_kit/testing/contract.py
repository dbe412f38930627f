"""The faults that a check finds, and the error that lists them."""

from __future__ import annotations

import builtins
import contextlib
import sys
from collections.abc import Iterator
from typing import final

from benchrunner import PluginError
from benchrunner.engine import first_line


@final
class Findings:
    """Faults of a value, each a sentence that says what was compared, and what to do."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.faults: list[str] = []

    def add(self, fault: str) -> None:
        """Add a fault, unless it is there already."""
        if fault not in self.faults:
            self.faults.append(fault)

    @contextlib.contextmanager
    def step(self, action: str) -> Iterator[None]:
        """Turn an error of the plugin's code into a fault, so that the next step is checked too.

        `action` says what was done, for example "to encode the rows".
        """
        try:
            yield
        except Exception as error:  # the code of a plugin may fail in any way
            place = _place(error)
            self.add(f"{action} ends in {described(error)}{place}: mend this error first")

    def refuse(self) -> None:
        """Raise a `PluginError` that lists the faults, if there are any."""
        if self.faults:
            listed = "\n".join(f"  - {fault}" for fault in self.faults)
            raise PluginError(f"{self.name} breaks its contract:\n{listed}")


@contextlib.contextmanager
def hashing_as_elsewhere() -> Iterator[None]:
    """Let `hash` give other numbers for texts, bytes and tuples, as it does in another process."""
    usual = builtins.hash

    def hash_elsewhere(value: object) -> int:
        is_key = sys._getframe(1).f_code.co_name == "__hash__"  # of a value in a dictionary that was filled before
        return usual(value) ^ (isinstance(value, str | bytes | tuple) and not is_key)

    builtins.hash = hash_elsewhere
    try:
        yield
    finally:
        builtins.hash = usual


def _place(error: BaseException) -> str:
    """Name the line of code that raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})" if trace is not None else ""


def described(error: BaseException) -> str:
    """Describe any error in one line, by its type and the first line of its message."""
    name = type(error).__name__
    text = first_line(error)
    return name if text == name else f"{name}: {text}"
