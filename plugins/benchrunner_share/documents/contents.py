"""The content of a shared study as JSON values: what was compared, and every score that is claimed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from benchrunner import Filtered, Metric, Reshaped, Rows, Score, Split, Task
from benchrunner.engine import decoding
from benchrunner.results import CellResult, Prediction, Record, Result
from benchrunner_tasks import HubTable

FORMAT = 2
"""Format of shared folders. `check` refuses folders of another format."""
STUDY, MANIFEST, REPORT, README = "study.json", "manifest.json", "report.html", "README.md"
"""Names of files of a shared folder."""

Figures = Mapping[str, Sequence[Any]]
"""Further figures of each row by name, for metrics that are computed from figures, see `Metric.computed_from`."""


def manifest(digests: Mapping[str, str]) -> dict[str, Any]:
    """Return the content of the list of files. `digests` maps the names of all other files to their SHA-256."""
    return {"format": FORMAT, "files": dict(sorted(digests.items()))}


def fit_name(fit: str) -> str:
    """Return the name of the file with a fit and its record."""
    return f"fits/{fit}.json"


def prediction_name(prediction: str) -> str:
    """Return the name of the file with a prediction and its scores."""
    return f"predictions/{prediction}.json"


def answers_name(prediction: str) -> str:
    """Return the name of the file with the answers of a prediction."""
    return f"predictions/{prediction}.answers.jsonl"


@final
@dataclass(frozen=True)
class Beside:
    """What stands beside the figures of a cell."""

    majority: Mapping[str, Mapping[str, Score]]
    """Split -> scores of the majority answer."""
    warnings: tuple[str, ...]
    """What a reader of the figures must know; all documents say it in these words."""


def result_json(result: Result, beside: Callable[[CellResult], Beside]) -> dict[str, Any]:
    """Return a result as JSON values; its names and reasons must be those that may be shared."""
    averages = dict[str, Any]()
    for system in dict.fromkeys(cell.cell.system for cell in result.cells):
        values = result.averages(system)
        averages[system] = {name: {"best": best, "mean": mean} for name, (best, mean) in values.items()}
    return {"cells": [_cell_json(cell, beside(cell)) for cell in result.cells], "averages": averages}


def _cell_json(result: CellResult, beside: Beside) -> dict[str, Any]:
    cell = result.cell
    points = []
    scores = []
    lost = {}
    for point in cell.candidates:
        fits = [fit.id for fit in point.fits]
        points.append({"recipe": point.recipe.as_dict(), "fits": fits, "rows": point.rows})
    for term, figure in result.figures.items():
        score = {
            "split": term.split,
            "metric": term.metric,
            "best": figure.best.value,
            "mean": figure.mean.value,
            "deviation": figure.deviation,
            "restarts": list(figure.values),
            "majority": beside.majority[term.split][term.metric].value,
        }
        scores.append(score)
    for fit, words in result.lost.items():
        status, _, reason = words.partition(": ")
        lost[fit] = [status, reason]
    return {
        "system": cell.system,
        "backbone": cell.backbone,
        "task": cell.task.name,
        "method": next(cell.fits).method,
        "fitting": decoding.as_json(cell.fitting, defaults=False),
        "selection": decoding.as_json(cell.selection),
        "tests": list(cell.tests),
        "candidates": points,
        "selected": result.selected.id if result.selected is not None else None,
        "chosen": result.chosen.as_dict() if result.chosen is not None else None,
        "scores": scores,
        "flags": dict(sorted(result.flagged.items())),
        "warnings": list(beside.warnings),
        "lost": lost,
    }


def task_json(task: Task, counts: Mapping[str, int]) -> dict[str, Any]:
    """Describe what the scores of a task are: its kind of question, its metrics, and its data sets on the hub.

    `counts` maps the splits to their numbers of rows.
    """
    return {
        "problem": task.problem.name,
        "metrics": [_of_metric(metric) for metric in task.metrics],
        "splits": {
            name: {"role": task.splits[name].role, "hub": _hub_data_set(task.splits[name], rows)}
            for name, rows in counts.items()
        },
    }


def _of_metric(metric: Metric) -> dict[str, Any]:
    direction = {"lower_is_better": True} if metric.lower_is_better else {}
    return {"name": metric.name, "scale": metric.scale, "detail": metric.detail, **direction}


def _hub_data_set(split: Split, rows: int) -> dict[str, str | None] | None:
    """Return where the rows of a split are on the hub; None if no source reads them from there.

    Also None if the number of rows is not the official one: made-up or cut data must not pass as the data set.
    """
    if split.rows not in (None, rows):
        return None
    for source in split.sources:
        while isinstance(source, Filtered | Reshaped):
            source = source.source
        if isinstance(source, HubTable):
            place = {"repository": source.repository, "configuration": source.configuration or None}
            return {**place, "split": source.split, "revision": source.revision}
    return None


def are_sealed(rows: Rows, task: Task) -> bool:
    """Whether rows have no labels, so that only whoever has them can score the answers."""
    return set(task.problem.label_columns).isdisjoint(rows.table.column_names)


def data_json(rows: Rows, task: Task) -> dict[str, Any]:
    """Return the number of rows and the fingerprints of all columns together and of each column, gold included.

    Rows without labels are `sealed`.
    """
    facts = {"rows": len(rows), "fingerprint": rows.fingerprint, "columns": rows.column_fingerprints}
    return facts | ({"sealed": True} if are_sealed(rows, task) else {})


def sealed_places(content: Mapping[str, Any]) -> list[str]:
    """Name the splits whose answers are sealed, such as "mine/mood (test)"."""
    places = []
    for task, of_task in content["data"].items():
        places += [f"{task} ({split})" for split, data in of_task.items() if data.get("sealed")]
    return places


def prediction_json(prediction: Prediction, record: Record) -> dict[str, Any]:
    """Return the content of the file of a prediction."""
    return {
        "prediction": decoding.as_json(prediction),
        # reasons of absent scores are not shared, because they may quote rows
        "scores": {name: score.value for name, score in record.scores.items()},
        "flags": list(record.flags),
    }


def answers_text(answers: Sequence[Any], figures: Figures) -> str:
    """Return answers with their further figures as lines of JSON."""
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    lines: list[str] = []
    for index, answer in enumerate(answers):
        line = f'"index": {index}, "answer": {encode(answer)}'  # four times as fast as an object for each line
        if figures:
            own = {name: values[index] for name, values in figures.items()}
            line += f', "figures": {encode(own)}'
        lines.append(f"{{{line}}}\n")
    return "".join(lines)
