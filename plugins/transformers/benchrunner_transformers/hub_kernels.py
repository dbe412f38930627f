"""Compiled code of the hub ("kernels"), which some models of the library fetch when they are made: never used."""

from __future__ import annotations


def forbid_kernels() -> None:
    """Keep the library from fetching compiled code, also if the package `kernels` is installed.

    RWKV and YOSO then compute with their code in Python, and MRA computes nothing. The setting is that of the process.
    """
    from transformers.integrations import hub_kernels

    hub_kernels.is_kernels_available = lambda *_: False
    hub_kernels._kernels_enabled = False
