"""Many rows are predicted in blocks, so that their features do not fill the memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchrunner import Classify, FitError
from benchrunner.data.rows import Rows
from benchrunner.methods.finetune import Finetune
from benchrunner.runs import predicting
from benchrunner.runs.predicting import raw_outputs
from inline import QUICK, mood, runner


class Whole(Classify):
    """Gathers its outputs itself, perhaps from several rows."""

    def gather(self, outputs: Any, features: Any, table: Any) -> Any:
        return outputs


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows of each call of the method."""
    predicted, numbers = Finetune.predict, list[int]()

    def counted(self: Finetune, job: Any, table: Any) -> Any:
        numbers.append(table.num_rows)
        return predicted(self, job, table)

    monkeypatch.setattr(Finetune, "predict", counted)
    monkeypatch.setattr(predicting, "ROWS_AT_ONCE", 10)
    return numbers


def outputs_of(folder: Path, problem: Classify) -> tuple[np.ndarray, Rows]:
    made = runner(folder, register_tasks=[mood(problem=problem)])
    task = made.plugins.tasks.find("mood")
    rows = made.planner.rows(task, "dev")
    return raw_outputs(made.planner.plan(task, "words", recipe=QUICK), rows, made), rows


def test_rows_are_predicted_in_blocks(sizes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_blocks, rows = outputs_of(tmp_path / "blocks", Classify(("glad", "sad")))
    assert len(rows) == 24 and sizes == [10, 10, 4]
    monkeypatch.setattr(predicting, "ROWS_AT_ONCE", 24)
    at_once, _ = outputs_of(tmp_path / "whole", Classify(("glad", "sad")))
    assert sizes[3:] == [24]
    np.testing.assert_allclose(in_blocks, at_once, atol=1e-6)


def test_a_problem_that_gathers_sees_all_rows(sizes: list[int], tmp_path: Path) -> None:
    outputs_of(tmp_path, Whole(("glad", "sad")))
    assert sizes == [24]


def test_every_block_has_an_output_for_each_row(
    sizes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    predicted = Finetune.predict
    monkeypatch.setattr(Finetune, "predict", lambda *asked: predicted(*asked)[:9])
    with pytest.raises(FitError, match="finetune gave 9 outputs, where 10 were expected"):
        outputs_of(tmp_path, Classify(("glad", "sad")))
