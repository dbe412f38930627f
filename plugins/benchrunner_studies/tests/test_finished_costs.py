"""Costs of finished fits, and which of them stand for a further fit."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchrunner.io.seals import read_sealed, write_sealed
from benchrunner_studies.finished_costs import FitCost, expected_seconds, finished_costs
from made_runs import made_run

KIND = ("tiny 1", "finetune", "cpu", "fp32")
COST = FitCost("mine/mood", KIND, 0.5, 2.0)


def test_costs_are_read_from_records(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    path = tmp_path / run / "record.json"
    record = read_sealed(path, "")
    assert list(finished_costs(tmp_path)) == [], "a fit that measured no rows says nothing"
    record["timings"] = {"seconds": 22.0, "train_seconds": 20.0, "examples_per_second": 2.0}
    write_sealed(path, record)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "record.json").write_text("{")
    assert list(finished_costs(tmp_path)) == [COST]
    write_sealed(path, {**record, "status": "diverged"})
    assert list(finished_costs(tmp_path)) == [], "it may have ended early"


def test_fits_of_the_same_task_count_first() -> None:
    other = replace(COST, task="mine/other", row_seconds=9.0)
    costs = [COST, other, replace(COST, row_seconds=0.7), replace(COST, row_seconds=0.6)]
    assert expected_seconds(costs, COST.task, KIND, 100) == pytest.approx(62.0)
    assert expected_seconds([other], COST.task, KIND, 100) == pytest.approx(902.0)


@pytest.mark.parametrize(("place", "other"), list(enumerate(("large", "features", "cuda", "bf16"))))
def test_what_was_measured_elsewhere_is_no_estimate(place: int, other: str) -> None:
    kind = (*KIND[:place], other, *KIND[place + 1 :])
    assert expected_seconds([replace(COST, kind=kind)], COST.task, KIND, 100) is None
