"""Where things lie on this machine: the user's data, the runs and the cache."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_TRUE = {"1", "true", "yes", "on"}


@dataclass(frozen=True)
class Places:
    """The folders one invocation works with. Nothing here is created until something is written."""

    runs: Path
    """Finished and unfinished fits, one folder each."""
    cache: Path
    """Encoded features and file hashes; safe to delete at any time."""
    data: Path | None = None
    """The user's raw data files, asked before the hub."""
    offline: bool = False
    """Never ask the hub; its local cache is still used."""
    leave_out: bool = False
    """Go on without rows that contradict themselves, and say so; otherwise they are an error."""
    official: bool = True
    """Compare row counts with the official ones; generated data has none."""

    @classmethod
    def from_environment(cls, *, data: Path | None = None, runs: Path | None = None) -> Places:
        """Arguments first, then BENCHRUNNER_DATA, BENCHRUNNER_RUNS and BENCHRUNNER_CACHE, then the defaults."""
        environment = os.environ
        named = environment.get("BENCHRUNNER_DATA")
        base = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cls(
            data=data or (Path(named) if named else None),
            runs=runs or Path(environment.get("BENCHRUNNER_RUNS", "runs")),
            cache=Path(environment.get("BENCHRUNNER_CACHE") or base / "benchrunner"),
            offline=environment.get("HF_HUB_OFFLINE", "").lower() in _TRUE,
        )
