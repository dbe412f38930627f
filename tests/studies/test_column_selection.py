"""Columns of a study file select by their own metrics, splits and rules among shared fits."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from benchrunner import RequestError
from benchrunner.results import Fit, FitRunner, Record
from benchrunner.runs.local_executor import Local
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.studies.study_options import StudyOptions
from benchrunner.studies.study_run import run_study
from benchrunner.study_files.settling import study_of_file
from rate_methods import metric_dependent, restart_dependent, split_dependent

COLUMNS = """
title = "Which metric selects?"

[recipe]
lr = "4,8"
restarts = "1"

[[system]]
name = "words"
backbone = "words"

[[column]]
name = "accuracy"
task = "mood"

[[column]]
name = "correlation"
task = "mood"
metric = "matthews"

[[column]]
name = "accuracy again"
task = "mood"
metric = "accuracy"
"""


def test_the_metric_of_a_column_selects_among_shared_fits(tmp_path: Path) -> None:
    made, begun = metric_dependent(tmp_path), list[str]()

    class Counting(Local):
        def run(self, fits: Iterable[Fit], runner: FitRunner) -> Iterator[tuple[Fit, Record]]:
            fits = list(fits)
            begun.extend(fit.id for fit in fits)
            yield from super().run(fits, runner)

    (tmp_path / "study.toml").write_text(COLUMNS)
    result = run_study(study_of_file(str(tmp_path / "study.toml"), made), made, executor=Counting())
    assert len(begun) == len(set(begun)) == 2, "three columns share two fits"
    cells = {name: result.cell_at["words", name] for name in ("accuracy", "correlation", "accuracy again")}
    assert {name: cell.chosen.lr for name, cell in cells.items() if cell is not None and cell.chosen is not None} == {
        "accuracy": 4,
        "correlation": 8,
        "accuracy again": 4,
    }
    shown = as_json(result)
    assert [(cell["column"], cell["selected_by"]) for cell in shown["figures"]] == [
        ("accuracy", "accuracy"),
        ("correlation", "matthews"),
        ("accuracy again", "accuracy"),
    ]
    assert [cell["selected_on"] for cell in shown["figures"]] == [["dev"]] * 3
    assert "correlation: selected by matthews" in shown["notes"]
    assert result.figures["words", "accuracy"].mean.value == pytest.approx(0.75)
    kept = {path.parent.parent.name for path in (tmp_path / "runs").glob("*/model/tiny.safetensors")}
    assert kept == set(begun), "the fit that each column selects keeps its weights"


def test_the_split_of_a_column_selects(tmp_path: Path) -> None:
    text = COLUMNS.replace('metric = "matthews"', 'split = "far"').replace('metric = "accuracy"', 'split = "near"')
    (tmp_path / "study.toml").write_text(text)
    made = split_dependent(tmp_path)
    result = run_study(study_of_file(str(tmp_path / "study.toml"), made), made)
    cells = [result.cell_at["words", name] for name in ("correlation", "accuracy again")]
    assert [cell.chosen.lr for cell in cells if cell is not None and cell.chosen is not None] == [8, 4]


def test_a_study_file_says_how_dev_selects(tmp_path: Path) -> None:
    text = COLUMNS.replace('restarts = "1"', 'restarts = "3"\nselect = "best"\npaper-adam = "true"')
    text += 'recipe = {select = "mean", paper-adam = "false"}\n'
    (tmp_path / "study.toml").write_text(text)
    made = restart_dependent(tmp_path)
    result = run_study(study_of_file(str(tmp_path / "study.toml"), made), made)
    cells = [result.cell_at["words", name] for name in ("accuracy", "accuracy again")]
    recipes = [cell.chosen for cell in cells if cell is not None and cell.chosen is not None]
    assert [(recipe.lr, recipe.bias_correction) for recipe in recipes] == [(4, False), (8, True)]
    with pytest.raises(RequestError, match="the metric of each column selects: leave select-by out"):
        study_of_file(str(tmp_path / "study.toml"), made, options=StudyOptions(select_by="accuracy"))
