"""The content of a shared folder as JSON values: names of files, figures, descriptions of tasks, and answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchrunner import Metric, Rows, Split, Task, Term, sources
from benchrunner.engine import decoding
from benchrunner.results import CellResult, Prediction, Record, cells
from benchrunner_tasks import HubTable

FORMAT = 4
"""Format of shared folders. `check` refuses folders of another format."""
STUDY, MANIFEST, REPORT, README = "study.json", "manifest.json", "report.html", "README.md"
"""Names of files of a shared folder."""
DIGITS = 10
"""Digits after the point that figures have: machines may differ in the last digits of a sum."""

Figures = Mapping[str, Sequence[Any]]
"""Further figures of each row by name, for metrics that are computed from figures, see `Metric.computed_from`."""


def manifest(digests: Mapping[str, str]) -> str:
    """Write the list of files. `digests` maps the names of all other files to their SHA-256."""
    return json_text({"format": FORMAT, "files": dict(sorted(digests.items()))})


def json_text(value: Any) -> str:
    """Write a document as JSON."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def fit_name(fit: str) -> str:
    """Return the name of the file with a fit and its record."""
    return f"fits/{fit}.json"


def prediction_name(prediction: str) -> str:
    """Return the name of the file with a prediction and its scores."""
    return f"predictions/{prediction}.json"


def answers_name(prediction: str) -> str:
    """Return the name of the file with the answers of a prediction."""
    return f"predictions/{prediction}.answers.jsonl"


def rounded(figure: float | None) -> float | None:
    """Round a figure, so that equal answers give the same digits everywhere; there is no negative zero."""
    return None if figure is None else round(figure, DIGITS) + 0.0


def outcome_json(result: CellResult, majority: Mapping[Term, float | None], warnings: Sequence[str]) -> dict[str, Any]:
    """Return what follows from the plan and the answers of a cell.

    `majority` are the scores of the majority answer, and `warnings` what a reader of the figures must know; all
    documents say it in these words.
    """
    scores = []
    for term, figure in result.figures.items():
        place = {"split": term.split, "metric": term.metric}
        scores.append({**place, **figure_json(figure), "majority": rounded(majority[term])})
    return {
        "selected": result.selected.id if result.selected is not None else None,
        "chosen": result.chosen.as_dict() if result.chosen is not None else None,
        "scores": scores,
        "flags": dict(sorted(result.flagged.items())),
        "warnings": list(warnings),
    }


def figure_json(figure: cells.Figure) -> dict[str, Any]:
    """Return a figure of a cell."""
    return {
        "best": rounded(figure.best.value),
        "mean": rounded(figure.mean.value),
        "deviation": rounded(figure.deviation),
        "restarts": [rounded(value) for value in figure.values],
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
        while isinstance(source, sources.OfSource):
            source = source.source
        if isinstance(source, HubTable):
            place = {"repository": source.repository, "configuration": source.configuration or None}
            return {**place, "split": source.split, "revision": source.revision}
    return None


def are_sealed(rows: Rows, task: Task) -> bool:
    """Whether rows have no labels, so that only whoever has them can score the answers."""
    return set(task.problem.label_columns).isdisjoint(rows.table.column_names)


def sealed_places(content: Mapping[str, Any]) -> list[str]:
    """Name the splits whose answers are sealed, such as "mine/mood (test)"."""
    places = []
    for task, of_task in content["data"].items():
        places += [f"{task} ({split})" for split, data in of_task.items() if data["sealed"]]
    return places


def prediction_json(prediction: Prediction, record: Record) -> dict[str, Any]:
    """Return the content of the file of a prediction."""
    return {
        "prediction": decoding.as_json(prediction),
        # reasons of absent scores are not shared, because they may quote rows
        "scores": {name: rounded(score.value) for name, score in record.scores.items()},
        "flags": list(record.flags),
    }


def answers_text(answers: Sequence[Any], figures: Figures, start: int = 0) -> str:
    """Return answers with their further figures as lines of JSON. `start` is the row of the first answer."""
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    lines: list[str] = []
    for index, answer in enumerate(answers):
        line = f'"index": {start + index}, "answer": {encode(answer)}'  # four times as fast as an object for each line
        if figures:
            own = {name: values[index] for name, values in figures.items()}
            line += f', "figures": {encode(own)}'
        lines.append(f"{{{line}}}\n")
    return "".join(lines)
