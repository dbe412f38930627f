"""The workspace: the folders for data, runs and cache on this machine, and how data is read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_TRUE = {"1", "true", "yes", "on"}


CHECKPOINT_SECONDS = 120.0
"""Time between two checkpoints: what a kill -9 can cost. It changes no result."""


@dataclass(frozen=True)
class Settings:
    """How data is read and checked, whatever the folders."""

    offline: bool = False
    """Never ask the hub; its local cache is still used."""
    leave_out_bad_rows: bool = False
    """Go on without rows that contradict themselves, with a note; otherwise they are an error."""
    official_counts: bool = True
    """Note where row counts differ from the official ones; generated data has none."""


@dataclass(frozen=True)
class Workspace:
    """The folders that one invocation works with. Nothing here is created until something is written."""

    runs: Path
    """Finished and unfinished fits, one folder each."""
    cache: Path
    """Encoded features and file hashes; safe to delete at any time."""
    data: Path | None = None
    """The user's raw data files, asked before the hub."""
    settings: Settings = Settings()

    @classmethod
    def from_environment(cls, *, data: Path | None = None, runs: Path | None = None) -> Workspace:
        """Arguments first, then BENCHRUNNER_DATA, BENCHRUNNER_RUNS and BENCHRUNNER_CACHE, then the defaults."""
        environment = os.environ
        named = environment.get("BENCHRUNNER_DATA")
        base = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cls(
            data=data or (Path(named) if named else None),
            runs=runs or Path(environment.get("BENCHRUNNER_RUNS", "runs")),
            cache=Path(environment.get("BENCHRUNNER_CACHE") or base / "benchrunner"),
            settings=Settings(offline=environment.get("HF_HUB_OFFLINE", "").lower() in _TRUE),
        )
