"""Logs that other programs write: lm-evaluation-harness, inspect_ai, Every Eval Ever, and tables of scores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchrunner import DataError, some_names
from benchrunner_answers.logs import Log
from benchrunner_tasks import TABLE_SUFFIXES, table_file

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Scores of inspect_ai: correct, incorrect, partly correct, no answer."""
SCORE = "score"
"""Column of tables with a score for each row."""


def read_log(path: Path) -> Log | None:
    """Return the scores in a log of a program that is known here; None for other files."""
    suffix = path.suffix.lower()
    if suffix == ".eval":
        raise DataError(f"{path}: write the log as JSON first: inspect log convert {path} --to json --output-dir DIR")
    if suffix == ".json":
        try:
            log = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:  # JSON lines have this suffix, too
            log = None
        if isinstance(log, dict) and "doc_id" not in log:
            return _inspect(log) if "samples" in log and "eval" in log else None
    if suffix in TABLE_SUFFIXES:
        return _table(path, TABLE_SUFFIXES[suffix])
    return None


def _inspect(log: Mapping[str, Any]) -> Log:
    """Read a log of inspect_ai."""
    scores = []
    for sample in log["samples"]:
        for scorer, score in sample["scores"].items():
            scores.append((str(sample["id"]), scorer, LETTERS.get(str(score["value"]), score["value"])))
    return _log(log["eval"]["task"].rpartition("/")[2], scores)


def _table(path: Path, kind: str) -> Log | None:
    """Read a table with ids and scores; of JSON, also the samples of lm-evaluation-harness and Every Eval Ever."""
    names = set(table_file(kind, path, {}).column_names(path))
    if {"doc_id", "metrics", "filter"} <= names:
        return _harness(path)
    columns = {"id": "id", SCORE: SCORE}
    if {"evaluation_name", "sample_id"} <= names:
        columns = {"id": "sample_id", SCORE: "evaluation.score", "task": "evaluation_name"}
    elif not set(columns) <= names:
        return None
    values: dict[str, list[Any]] = {name: [] for name in columns}
    table_file(kind, path, columns).fill(path, values, [])
    scores = [(str(row_id), SCORE, score) for row_id, score in zip(values["id"], values[SCORE], strict=True)]
    tasks = sorted(set(values.get("task", [path.stem])))
    if len(tasks) > 1:
        raise DataError(f"{path}: the rows are of several tasks, {some_names(tasks)}. Write a file for each.")
    return _log(tasks[0], scores)


def _harness(path: Path) -> Log:
    """Read samples of lm-evaluation-harness (`--log_samples`); of several filters, the first counts."""
    scores = []
    filters = []
    for text in path.read_text(encoding="utf-8").strip().split("\n"):
        line = json.loads(text)
        filters.append(line["filter"])
        if line["filter"] == filters[0]:
            scores += [(f"{line['doc_id']} {line.get('doc_hash', '')}", name, line[name]) for name in line["metrics"]]
    return _log(path.stem.removeprefix("samples_").rpartition("_")[0] or path.stem, scores)


def _log(task: str, scores: Iterable[tuple[str, str, Any]]) -> Log:
    """Return the log with the scores (id of a row, metric, value); of several scores of a row, their mean counts.

    Metrics that are no number in every row are left out.
    """
    found: dict[str, dict[str, list[float]]] = {}
    texts = set()
    for row_id, metric, value in scores:
        try:
            found.setdefault(metric, {}).setdefault(row_id, []).append(float(value))
        except (TypeError, ValueError):
            texts.add(metric)
    ids = list(dict.fromkeys(row_id for values in found.values() for row_id in values))
    means = {}
    for metric, values in found.items():
        if metric not in texts and len(values) == len(ids):
            means[metric] = [sum(values[row_id]) / len(values[row_id]) for row_id in ids]
    return Log(task, ids, means)
