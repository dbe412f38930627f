"""Kernels for benchrunner: compiled operators for CPUs, with which fits and predictions take less time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner_kernels.compiled import CompiledKernels

__all__ = ["offer_kernels"]


@hookimpl
def offer_kernels() -> CompiledKernels:
    from benchrunner_kernels.compiled import checked_kernels

    return checked_kernels()
