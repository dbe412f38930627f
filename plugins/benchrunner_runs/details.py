"""Details of one run, and what differs between two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from benchrunner.engine import decoding
from benchrunner.results import Fit, Prediction, Record, find_run
from benchrunner_runs.sizes import Sizes, sizes_of

Values = dict[str, Any]
"""Name -> value; names of nested values are joined by dots."""


@final
@dataclass(frozen=True)
class Predicted:
    """A prediction of a run, with its record."""

    prediction: Prediction
    record: Record
    rows: int
    """The number of rows that are answered."""


@final
@dataclass(frozen=True)
class RunDetails:
    """Everything that a run's folder says, except its answers and weights."""

    fit: Fit
    record: Record | None
    """None if the fit is not finished."""
    predictions: tuple[Predicted, ...]
    """By task and split, the newest last."""
    path: Path
    sizes: Sizes

    def as_json(self) -> dict[str, Any]:
        """Return the details as JSON values."""
        predictions = []
        for predicted in self.predictions:
            facts = {"rows": predicted.rows, "record": predicted.record}
            predictions.append({**decoding.as_json(predicted.prediction), **facts})
        return {"id": self.fit.id, **vars(self), "fit": _whole_fit(self), "predictions": predictions}


@final
@dataclass(frozen=True)
class RunDifference:
    """What differs between two runs: name -> the two values; None where a run has no such value."""

    left: str
    """Id of the first run."""
    right: str
    names: Mapping[str, tuple[Any, Any]]
    """Differences in the names of task and backbone, which are not part of the identity."""
    identity: Mapping[str, tuple[Any, Any]]
    """Differences in what was asked: they make two fits different."""
    numerics: Mapping[str, tuple[Any, Any]]
    """Differences in how the results were computed. With equal identity and numerics, results are equal bit for bit."""
    outcome: Mapping[str, tuple[Any, Any]]
    """Differences in the status and in scores, by `task split metric`."""


def run_details(runs: Path, reference: str) -> RunDetails:
    """Read a run, named by its id, by the beginning of its id, or by its folder."""
    folder = find_run(runs, reference)
    fit = folder.fit()
    record = folder.record()
    dated = sorted(folder.predictions(), key=lambda entry: (entry[0].task, entry[0].split, *entry[1:]))
    predictions = []
    for prediction, _, path in dated:
        if (scored := folder.prediction_record(path.name)) is not None:
            predictions.append(Predicted(prediction, scored, _answered_rows(path)))
    return RunDetails(fit, record, tuple(predictions), folder.path, sizes_of(folder.path))


def _answered_rows(prediction: Path) -> int:
    """Count the answers in a prediction's folder."""
    with (prediction / "answers.jsonl").open("rb") as answers:
        return sum(1 for _ in answers)


def diff_runs(runs: Path, left: str, right: str) -> RunDifference:
    """Compare two runs in their names, their identity, their numerics and their outcome."""
    ours, theirs = run_details(runs, left), run_details(runs, right)
    return RunDifference(
        ours.fit.id,
        theirs.fit.id,
        names=_differences(_names(ours), _names(theirs)),
        identity=_differences(_identity(ours), _identity(theirs)),
        numerics=_differences(_numerics(ours), _numerics(theirs)),
        outcome=_differences(_outcome(ours), _outcome(theirs)),
    )


def _names(run: RunDetails) -> Values:
    return {"task": run.fit.task, "backbone": run.fit.backbone}


def _identity(run: RunDetails) -> Values:
    """Return what makes the fit's id."""
    seen = _whole_fit(run)
    for name in _names(run):
        del seen[name]
    return _flat(seen)


def _whole_fit(run: RunDetails) -> Values:
    """Return all fields of a fit, also those recipe fields that are at their defaults."""
    return {**decoding.as_json(run.fit), "recipe": run.fit.recipe.as_dict()}


def _numerics(run: RunDetails) -> Values:
    return {} if run.record is None else _flat(run.record.numerics)


def _outcome(run: RunDetails) -> Values:
    outcome: Values = {"status": "unfinished" if run.record is None else run.record.status}
    for predicted in run.predictions:
        prediction = predicted.prediction
        for metric, score in predicted.record.scores.items():
            outcome[f"{prediction.task} {prediction.place} {metric}"] = score.value
    return outcome


def _flat(values: Mapping[str, Any], prefix: str = "") -> Values:
    flat: Values = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _differences(left: Values, right: Values) -> dict[str, tuple[Any, Any]]:
    differences = {}
    for name in dict.fromkeys((*left, *right)):
        values = (left.get(name), right.get(name))
        if values[0] != values[1]:
            differences[name] = values
    return differences
