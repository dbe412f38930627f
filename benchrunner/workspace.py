"""Workspace: the folders for data, runs and cache on this machine, and settings for reading data."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from benchrunner.errors import RequestError
from benchrunner.io.hub_access import HubAccess
from benchrunner.process.platform_facts import home_folder

_TRUE = {"1", "true", "yes", "on"}
_AT_COMMIT = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}")
"""A repository of the hub at a commit: a branch, a tag or a short commit could come to mean other code."""


@dataclass(frozen=True)
class Settings:
    """Settings for reading and checking data. They do not depend on the folders."""

    offline: bool = False
    """Never connect to the hub; its local cache is still used."""
    leave_out_bad_rows: bool = False
    """Leave out rows that contradict themselves, with a note; otherwise such rows are an error."""
    official_counts: bool = True
    """Note row counts that differ from the official ones. False for generated data, which has no official counts."""
    limit_dev: int | None = None
    """Largest number of rows of each dev split that is read; None reads all."""
    trusted_code: tuple[str, ...] = ()
    """Code that checkpoints may run: that of these folders, and of OWNER/NAME@COMMIT on the hub."""
    may_run_code: bool = False
    """Whether this process may run the trusted code. Only worker processes may, which fit and predict."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "trusted_code", tuple(map(_trusted, self.trusted_code)))

    @property
    def needs_workers(self) -> bool:
        """Whether fits and predictions must be left to worker processes."""
        return bool(self.trusted_code) and not self.may_run_code


def _trusted(code: str) -> str:
    """Check what holds trusted code, and make the path of a folder absolute."""
    if Path(code).is_dir():
        return str(Path(code).absolute())
    if _AT_COMMIT.fullmatch(code):
        return code
    raise RequestError(
        f"--trust-code {code}: give a folder, or a repository of the hub at a full commit of 40 digits, "
        "OWNER/NAME@COMMIT. 'git ls-remote https://huggingface.co/OWNER/NAME' shows commits."
    )


@dataclass(frozen=True)
class Workspace:
    """Folders of one invocation. A folder is created when something is written to it."""

    runs: Path
    """Finished and unfinished fits, one folder each."""
    cache: Path
    """Encoded features and hashes of files; safe to delete at any time."""
    data: Path | None = None
    """Raw data files of the user, searched before the hub is asked."""
    settings: Settings = Settings()
    hub: HubAccess = field(default_factory=HubAccess, compare=False, repr=False)
    """Whether the hub can be reached, which is found out when the hub is asked first."""

    @classmethod
    def of_demo(cls, folder: Path) -> Workspace:
        """Return the workspace of generated data below a folder: without the hub and without official row counts."""
        return cls(folder / "runs", folder / "cache", folder / "data", Settings(offline=True, official_counts=False))

    @classmethod
    def from_environment(cls, *, data: Path | None = None, runs: Path | None = None) -> Workspace:
        """Take the folders from the arguments, else from BENCHRUNNER_DATA, BENCHRUNNER_RUNS and BENCHRUNNER_CACHE.

        A variable that is empty counts as one that is not set. Without a home folder, the cache is a hidden folder of
        the runs folder.
        """
        environment = os.environ
        named = environment.get("BENCHRUNNER_DATA")
        runs = runs or Path(environment.get("BENCHRUNNER_RUNS") or "runs")
        base = environment.get("XDG_CACHE_HOME") or (home_folder() or runs) / ".cache"
        return cls(
            data=data or (Path(named) if named else None),
            runs=runs,
            cache=Path(environment.get("BENCHRUNNER_CACHE") or Path(base, "benchrunner")),
            settings=Settings(offline=environment.get("HF_HUB_OFFLINE", "").lower() in _TRUE),
        )
