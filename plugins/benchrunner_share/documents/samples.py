"""Samples of Every Eval Ever: a line for each row and restart, with the texts of the row, the answer and its score.

The fields follow `instance_level_eval.schema.json`, version 0.3.0, of the repository evaleval/every_eval_ever.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from benchrunner import Metric, Rows, Task
from benchrunner.results import Fit
from benchrunner_share.documents.card_scores import CardScore
from benchrunner_share.documents.every_eval_ever import SCHEMA, result_id
from benchrunner_statistics import AnsweredRows


def sample_lines(
    score: CardScore, evaluation: str, task: Task, metric: Metric, rows: Rows, fit: Fit, answers: Sequence[Any]
) -> Iterator[str]:
    """Yield the lines of a restart for a metric that is a mean over rows. `evaluation` is the id of the log."""
    assert metric.per_row is not None
    gold = task.problem.gold(rows.table) or []
    right = 0.0 if metric.lower_is_better else 1.0
    numbers, questions = range(len(rows)), _questions(task, score.split, rows)
    for number, question, label, answer in zip(numbers, questions, gold, answers, strict=True):
        references = [_spelled(task, each) for each in (label if isinstance(label, list) else [label])]
        value = float(metric.per_row(label, answer))
        text = _spelled(task, answer)
        sample = {
            "schema_version": SCHEMA,
            "evaluation_id": evaluation,
            "model_id": score.backbone,
            "evaluation_name": score.task,
            "evaluation_result_id": result_id(score),
            "sample_id": f"{score.split}/{number}",
            "sample_hash": _hash(question, references),
            "interaction_type": "single_turn",
            "input": {"raw": question, "reference": references},
            "output": {"raw": [text]},
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": text,
                    "extraction_method": "custom",  # the head of the fit gives the answer itself
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": value, "is_correct": value == right},
            "metadata": {"fit": fit.id, "seed": str(fit.seed)},
        }
        yield json.dumps(sample, ensure_ascii=False, allow_nan=False) + "\n"


def _questions(task: Task, split: str, rows: Rows) -> Iterator[str]:
    """Yield the texts of each row, one on each line."""
    columns = AnsweredRows(task, split, rows, None, {}, {}).text_columns
    for row in rows.table.select(columns).to_pylist():
        values = []
        for name in columns:
            value = row[name]
            values.append(" ".join(map(str, value)) if name == "words" else _plain(value))
        yield "\n".join(values)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _spelled(task: Task, answer: Any) -> str:
    """Write an answer or a label as text."""
    try:
        return task.problem.spell(answer)
    except Exception:  # a label may be none of the answers, such as a list of right answers
        return _plain(answer)


def _hash(question: str, references: Sequence[str]) -> str:
    """Hash a row as the adapters of Every Eval Ever do, so that samples of several models can be joined."""
    sample = {"raw": question, "reference": list(references)}
    return hashlib.sha256(json.dumps(sample, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
