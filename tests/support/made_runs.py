"""Run folders written by hand: what `benchrunner runs` reads, without any training."""

import os
from pathlib import Path
from typing import Any

from benchrunner import Recipe, Score
from benchrunner.results import Fit, Prediction, Record
from benchrunner.runs.folder import RunFolder, answer_lines, write_prediction

SUPPLIERS = {"core (benchrunner)": "0.1.0", "own (own)": "0+source.3667f67f6e10"}


def made_fit(**changes: Any) -> Fit:
    values: dict[str, Any] = {
        "task": "mine/mood",
        "backbone": "words",
        "method": "finetune",
        "recipe": Recipe(),
        "seed": 0,
        "data": "d" * 64,
        "problem": {"kind": "classify", "labels": ["glad", "sad"]},
        "revision": "tiny 1",
        "suppliers": SUPPLIERS,
    }
    return Fit(**(values | changes))


def made_run(
    runs: Path, *, status: Any = "done", score: float | None = 0.5, minute: int = 0, weights: int = 100, **changes: Any
) -> str:
    """Write a run with a prediction of dev; return its id. `status` None is a fit that is not finished."""
    fit = made_fit(**changes)
    folder = RunFolder(runs, fit.id)
    folder.keep_fit(fit)
    (folder.path / ".lock").touch()
    if status is None:
        return fit.id
    reason = "" if status == "done" else "the loss is not a number"
    numerics = {"device": "cpu", "threads": fit.seed + 1}
    folder.keep_record(Record(fit.id, status, reason, timings={"seconds": 10.0 + fit.seed}, numerics=numerics))
    os.utime(folder.path / "record.json", (1_600_000_000 + 60 * minute,) * 2)
    if weights:
        folder.model.mkdir()
        (folder.model / "model.safetensors").write_bytes(b"\0" * weights)
    for split, scores in (("dev", {"accuracy": Score(score), "matthews": Score(0.1)}), ("test", {})):
        if score is not None:
            prediction = Prediction(fit.id, fit.task, split, "r" * 64, {})
            home = folder.prediction(prediction.id)
            home.mkdir(parents=True)
            write_prediction(home, prediction, Record(prediction.id, "done", "", scores), answer_lines(["glad"] * 9))
    return fit.id
