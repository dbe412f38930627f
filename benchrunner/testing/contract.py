"""The error of a value that breaks its contract."""

from __future__ import annotations

from collections.abc import Sequence

from benchrunner.errors import PluginError


def refuse(name: str, faults: Sequence[str]) -> None:
    """Raise a `PluginError` that lists the faults of a task or a backbone, if there are any."""
    if faults:
        raise PluginError(f"{name} breaks its contract:\n" + "\n".join(f"  - {fault}" for fault in faults))
