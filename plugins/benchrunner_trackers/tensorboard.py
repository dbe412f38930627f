"""TensorBoard: a folder of event files for each fit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner.results import Fit
from benchrunner_trackers.tracker import Tracker, parameters

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


@final
class TensorBoard(Tracker):
    """Writes event files below FOLDER/tensorboard/TASK/BACKBONE/, which `tensorboard --logdir` shows."""

    name = "tensorboard"
    module = "tensorboard"
    _writer: SummaryWriter

    def open(self, fit: Fit, first_step: int | None) -> int:
        from torch.utils.tensorboard import SummaryWriter

        run = f"lr{fit.recipe.lr:g}-seed{fit.seed}-{fit.id}"
        home = self.folder.joinpath(*map(_path_part, (*fit.task.split("/"), fit.backbone, run)))
        is_new = not home.exists()
        kept = 0 if is_new else _last_step(home)
        # TensorBoard drops the events from `purge_step` on, so that a fit that goes on continues its curve.
        self._writer = SummaryWriter(str(home), purge_step=first_step)
        if is_new:
            rows = "".join(f"| {name} | {value} |\n" for name, value in parameters(fit).items())
            self._writer.add_text("parameters", f"| name | value |\n| --- | --- |\n{rows}", 0)
        return kept if first_step is None else first_step - 1

    def add(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def close(self, *, failed: bool) -> None:
        self._writer.close()


def _path_part(text: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", text).strip("-.") or "-"


def _last_step(home: Path) -> int:
    """Read the last step of a run's scalars."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(home), {"scalars": 1}).Reload()
    return max((event.step for tag in events.Tags()["scalars"] for event in events.Scalars(tag)), default=0)
