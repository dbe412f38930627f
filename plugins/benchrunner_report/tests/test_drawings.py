"""The cards of a report: curves of training and tuning, and differences of each column."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from small_studies import NAMES, small

from benchrunner.results import Result, Runner
from benchrunner_report.drawings.study_charts import study_cards
from benchrunner_report.drawings.task_charts import cards
from benchrunner_report.gathering import Report, gather


def test_a_removed_log_leaves_out_learning_curves(tmp_path: Path) -> None:
    result, made = small(tmp_path, ("classify",))
    for log in made.workspace.runs.glob("*/log.jsonl"):
        log.unlink()
    assert gather(result, made).sections[0].curves == ()


def test_each_column_has_its_own_differences(tmp_path: Path) -> None:
    """Two splits of a task have the same title."""
    names = ("made/good", "made/poor", "made/poorest")
    result, _ = small(tmp_path, ("classify", "choose"), names)
    columns = [replace(column, label="same") for column in result.study.columns]
    study = replace(result.study, columns=tuple(columns))
    [card] = [card for card in study_cards(replace(result, study=study)) if card.title.startswith("Differences")]
    assert len(card.charts) == 2 and all("made/poorest" in chart.upwards.names for chart in card.charts)


def test_equal_values_are_said_in_words(study: tuple[Result, Runner], report: Report) -> None:
    """Rounding makes values differ by 1e-14."""
    section = report.sections[0]
    column = section.column
    equal = {(name, column): [0.98, 0.98 + 1e-14] for name in NAMES}
    result = replace(study[0], given_statistics=replace(study[0].statistics, trials=equal))
    [card] = [card for card in cards(replace(section, result=result)) if card.title == "Expected best"]
    assert not card.charts and "all grid points of a system have the same score" in card.words


def test_curves_are_means_at_equal_steps(tmp_path: Path) -> None:
    """The last line of a log, of step 295, is left out: the others are ten steps apart."""
    result, made = small(tmp_path, ("classify",))
    logs = [made.folder(fit).log for fit in result.cells[0].restarts]
    for place, log in enumerate(logs):
        steps = [*range(10, 291, 10), 295]
        lines = [json.dumps({"step": step, "loss": step / 100 + place}) for step in steps]
        log.write_text("\n".join(lines) + "\n")
    curve = gather(result, made).sections[0].curves[0]
    assert curve.restarts == 3
    assert list(curve.points) == [(step, pytest.approx(step / 100 + 1)) for step in range(10, 291, 10)]
