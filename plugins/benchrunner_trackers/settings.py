"""Settings of the trackers, from environment variables, which worker processes on every machine get."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchrunner import RequestError, UnknownName

TRACKERS = ("mlflow", "tensorboard", "trackio", "wandb")
"""Names of the trackers, which are also the names of this distribution's extras."""


@final
@dataclass(frozen=True)
class TrackerSettings:
    """Which trackers get the curves and scores, and where they keep them."""

    trackers: tuple[str, ...] = ()
    """Names from `TRACKERS`; none is chosen by default."""
    folder: Path = Path("trackers")
    """Folder with a sub-folder for each tracker."""
    project: str = "benchrunner"
    """Project or experiment to which the runs belong, in trackers that have such a thing."""

    def __post_init__(self) -> None:
        for name in self.trackers:
            if name not in TRACKERS:
                raise UnknownName("tracker", name, TRACKERS, "BENCHRUNNER_TRACKERS names the trackers.")
        if self.trackers and self.folder.exists() and not self.folder.is_dir():
            raise RequestError(f"BENCHRUNNER_TRACKERS_DIR: {self.folder} is a file, and trackers need a folder.")

    @classmethod
    def from_environment(cls) -> TrackerSettings:
        """Read BENCHRUNNER_TRACKERS (names, by comma), BENCHRUNNER_TRACKERS_DIR and BENCHRUNNER_TRACKERS_PROJECT."""
        names = os.environ.get("BENCHRUNNER_TRACKERS", "").split(",")
        return cls(
            tuple(dict.fromkeys(name.strip() for name in names if name.strip())),
            Path(os.environ.get("BENCHRUNNER_TRACKERS_DIR") or cls.folder).absolute(),
            os.environ.get("BENCHRUNNER_TRACKERS_PROJECT") or cls.project,
        )
