"""Details of one run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from benchrunner.engine import decoding
from benchrunner.results import Fit, Prediction, Record, find_run
from benchrunner_runs.sizes import size_of


@final
@dataclass(frozen=True)
class RunDetails:
    """Everything that a run's folder says, except its answers and weights."""

    fit: Fit
    record: Record | None
    """None if the fit is not finished."""
    predictions: tuple[tuple[Prediction, Record], ...]
    """Predictions with their records, by task and split, the newest last."""
    path: Path
    bytes: int
    """Size of its files."""

    def as_json(self) -> dict[str, Any]:
        """Return the details as JSON values."""
        predictions = [{**decoding.as_json(prediction), "record": record} for prediction, record in self.predictions]
        fit = {**decoding.as_json(self.fit), "recipe": self.fit.recipe.as_dict()}  # also values that are defaults
        return {"id": self.fit.id, **vars(self), "fit": fit, "predictions": predictions}


def run_details(runs: Path, reference: str) -> RunDetails:
    """Read a run, named by its id, by the beginning of its id, or by its folder."""
    folder = find_run(runs, reference)
    fit = folder.fit()
    record = folder.record()
    dated = sorted(folder.predictions(), key=lambda entry: (entry[0].task, entry[0].split, *entry[1:]))
    predictions = []
    for prediction, _, path in dated:
        if (scored := folder.prediction_record(path.name)) is not None:
            predictions.append((prediction, scored))
    return RunDetails(fit, record, tuple(predictions), folder.path, size_of(folder.path))
