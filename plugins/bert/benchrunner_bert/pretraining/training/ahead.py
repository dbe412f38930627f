"""Make what the next step needs while an accelerator computes this step."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Generic, Self, TypeVar, final

T = TypeVar("T")


@final
class Ahead(Generic[T]):
    """Makes a value for each step; with `in_thread`, a thread makes the next step's value during this step.

    A value must depend on its step alone, so that a run that continues makes the same values. On a CPU a thread gains
    nothing: the step itself uses all cores. Leaving the `with` block waits for the thread.
    """

    def __init__(self, make: Callable[[int], T], steps: int, *, in_thread: bool) -> None:
        """`steps` is the number of all steps; no value is made for later steps."""
        self._make = make
        self._steps = steps
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="next step") if in_thread else None
        self._waiting = dict[int, Future[T]]()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def of(self, step: int) -> T:
        """Give the value of a step, counted from 0, and begin to make that of the next step."""
        future = self._waiting.pop(step, None)
        value = self._make(step) if future is None else future.result()
        if self._pool is not None and step + 1 < self._steps:
            self._waiting[step + 1] = self._pool.submit(self._make, step + 1)
        return value
