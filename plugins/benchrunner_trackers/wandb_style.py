"""Trackers with the programming interface of Weights & Biases: trackio, and wandb itself without a network."""

from __future__ import annotations

import contextlib
import os
import sys
from abc import abstractmethod
from collections.abc import Mapping
from types import ModuleType
from typing import Any, final

from benchrunner.results import Fit
from benchrunner_trackers.tracker import Tracker, parameters, run_name


class WandbStyle(Tracker):
    """A tracker with `init`, `log` and `finish`."""

    _run: Any

    @abstractmethod
    def options(self, fit: Fit) -> dict[str, Any]:
        """Return the options of `init` that only this library has."""

    @abstractmethod
    def last_step(self) -> int:
        """Return the last step that the open run has, 0 for none."""

    def open(self, fit: Fit, first_step: int | None) -> int:
        library = self.library()
        self.folder.mkdir(parents=True, exist_ok=True)
        with contextlib.redirect_stdout(sys.stderr):  # standard output may be JSON
            self._run = library.init(
                project=self.settings.project,
                name=run_name(fit),
                config=parameters(fit),
                resume="allow",
                **self.options(fit),
            )
        return self.last_step()

    def add(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def close(self, *, failed: bool) -> None:
        with contextlib.redirect_stdout(sys.stderr):
            self._run.finish()


@final
class Trackio(WandbStyle):
    """Writes to FOLDER/trackio, which `trackio show` shows if TRACKIO_DIR names it."""

    name = "trackio"
    module = "trackio"

    def library(self) -> ModuleType:
        os.environ.setdefault("TRACKIO_DIR", str(self.folder))  # trackio reads this when it is imported
        return super().library()

    def options(self, fit: Fit) -> dict[str, Any]:
        return {"auto_log_gpu": False, "auto_log_cpu": False}

    def last_step(self) -> int:
        from trackio.sqlite_storage import SQLiteStorage

        return SQLiteStorage.get_max_step_for_run(self._run.project, self._run.name) or 0


@final
class Wandb(WandbStyle):
    """Writes offline runs to FOLDER/wandb, which `wandb sync` sends, unless WANDB_MODE says otherwise."""

    name = "wandb"
    module = "wandb"

    def library(self) -> ModuleType:
        os.environ.setdefault("WANDB_SILENT", "true")
        return super().library()

    def options(self, fit: Fit) -> dict[str, Any]:
        return {"id": fit.id, "dir": str(self.folder), "mode": os.environ.get("WANDB_MODE") or "offline"}

    def last_step(self) -> int:
        return max(0, int(self._run.step) - 1)
