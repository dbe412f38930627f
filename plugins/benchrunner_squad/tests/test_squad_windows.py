"""Windows over the real dev files with the released vocabularies: gold answers are decoded, with known exceptions."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchrunner import Task, Workspace
from benchrunner_kinds.spans.span_candidates import NONE, SCORE
from benchrunner_squad.table import tasks

REAL = Path(os.environ.get("BENCHRUNNER_REAL_DATA", "nowhere"))
TASKS = {task.name: task for task in tasks()}
INSIDE, LONG = "begins or ends inside a piece", "longer than 30 pieces"
KNOWN = {
    ("squad/1.1", "uncased"): {INSIDE: 51, LONG: 9},
    ("squad/1.1", "cased"): {INSIDE: 49, LONG: 14},
    ("squad/2.0", "uncased"): {INSIDE: 20, LONG: 9},
    ("squad/2.0", "cased"): {INSIDE: 19, LONG: 12},
}
"""Gold answers that no model can give, for example '4', whose first occurrence is inside '49', or whole sentences."""


def encoder(case: str) -> Any:
    """Make the parts of an encoder that encoding uses."""
    bert = pytest.importorskip("benchrunner_bert.tokenizer")
    vocabulary = REAL / "bert_vocab" / f"bert-base-{case}-vocab.txt"
    if not vocabulary.is_file():
        pytest.skip("no released vocabularies: set BENCHRUNNER_REAL_DATA to the folder above bert_vocab/ and squad/")
    tokenizer = bert.BertTokenizer.from_vocabulary(vocabulary)
    return SimpleNamespace(pieces=tokenizer.pieces, frame=tokenizer.frame, max_length=512, summary_place="first")


def gold_outputs(features: Any) -> np.ndarray:
    """Make the outputs of a model that knows each window's answer; windows without one have a negative score."""
    outputs = np.zeros((len(features.tokens), 2), dtype=np.float32)
    for at, name in enumerate(("start", "end")):
        outputs[features.starts[:-1] + features.targets[name], at] = 1.0
    outputs[features.starts[:-1]] = -5.0
    return outputs


def reason(pieces: np.ndarray, first: int, last: int) -> str:
    """Explain why characters `first` to `last` of a text with these pieces cannot be an answer."""
    if first not in pieces[:, 0] or last not in pieces[:, 1]:
        return INSIDE
    count = int(((pieces[:, 0] >= first) & (pieces[:, 1] <= last)).sum())
    return LONG if count > 30 else ""


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("squad/1.1", "cased"),
        ("squad/2.0", "uncased"),
        pytest.param("squad/1.1", "uncased", marks=pytest.mark.slow),
        pytest.param("squad/2.0", "cased", marks=pytest.mark.slow),
    ],
)
def test_gold_answers_of_the_real_dev_files_are_recovered(name: str, case: str) -> None:
    task: Task = TASKS[name]
    model = encoder(case)
    table = task.load("dev", Workspace(Path(), Path(), data=REAL)).table
    features = task.problem.encode(table, model, task.recipe, training=False)
    gathered = task.problem.gather(gold_outputs(features), features, table)
    assert (gathered[:, NONE, SCORE] == -10.0).all()
    answers = task.problem.decode(gathered, table, {"tau": -np.inf})
    columns = (table.column(name).to_pylist() for name in ("context", "answers", "starts"))
    exceptions: dict[str, int] = {}
    for answer, context, gold, starts in zip(answers, *columns, strict=True):
        if gold and answer != gold[0]:
            why = reason(model.pieces([context]).spans, starts[0], starts[0] + len(gold[0]))
            exceptions[why] = exceptions.get(why, 0) + 1
    assert exceptions == KNOWN[task.name, case]
