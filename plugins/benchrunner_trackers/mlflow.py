"""MLflow: its local file store, or the store that MLFLOW_TRACKING_URI names."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, final

from benchrunner.results import Fit
from benchrunner_trackers.tracker import Tracker, parameters, run_name

if TYPE_CHECKING:
    from types import ModuleType

TAG = "benchrunner.fit"
"""Tag of a run that holds the fit's id."""


@final
class MLflow(Tracker):
    """Writes runs to FOLDER/mlflow, unless MLFLOW_TRACKING_URI is set."""

    name = "mlflow"
    module = "mlflow.tracking"
    _client: Any
    _run: str

    def library(self) -> ModuleType:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # nothing is sent anywhere
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # the local store needs no database and no server
        return super().library()

    def open(self, fit: Fit, first_step: int | None) -> int:
        store = os.environ.get("MLFLOW_TRACKING_URI") or self.folder.as_uri()
        self._client = self.library().MlflowClient(tracking_uri=store)
        experiment = self._client.get_experiment_by_name(self.settings.project)
        home = experiment.experiment_id if experiment else self._client.create_experiment(self.settings.project)
        runs = self._client.search_runs([home], f"tags.`{TAG}` = '{fit.id}'", max_results=1)
        if not runs:
            run = self._client.create_run(home, run_name=run_name(fit), tags={TAG: fit.id})
            self._run = run.info.run_id
            for name, value in parameters(fit).items():
                self._client.log_param(self._run, name, value)
            return 0
        self._run = runs[0].info.run_id
        return max((self._last(name) for name in runs[0].data.metrics if name.startswith("train/")), default=0)

    def _last(self, name: str) -> int:
        return max((metric.step for metric in self._client.get_metric_history(self._run, name)), default=0)

    def add(self, step: int, values: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        now = round(1000 * time.time())
        metrics = [Metric(name, value, now, step) for name, value in values.items() if math.isfinite(value)]
        self._client.log_batch(self._run, metrics=metrics)

    def close(self, *, failed: bool) -> None:
        self._client.set_terminated(self._run, "FAILED" if failed else "FINISHED")
