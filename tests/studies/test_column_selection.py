"""Columns of one task in a study file share one selection among shared fits, unless the file says otherwise."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from benchrunner import RequestError
from benchrunner.results import Fit, FitRunner, Record, Result, Runner
from benchrunner.runs.local_executor import Local
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.studies.study_options import StudyOptions
from benchrunner.studies.study_run import run_study
from benchrunner_studies.settling import study_of_file
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


def chosen_rates(result: Result) -> dict[str, float]:
    """Map each column to the learning rate that was selected for the words."""
    rates = {}
    for column in result.study.columns:
        cell = result.cell_at["words", column.name]
        assert cell.chosen is not None
        rates[column.name] = cell.chosen.lr
    return rates


def studied(folder: Path, text: str, made: Runner, *columns: str) -> Result:
    (folder / "study.toml").write_text(text)
    return run_study(study_of_file(str(folder / "study.toml"), made, columns=columns or None), made)


def test_columns_of_one_task_share_one_selection(tmp_path: Path) -> None:
    made = metric_dependent(tmp_path)
    result = studied(tmp_path, COLUMNS, made)
    assert set(chosen_rates(result).values()) == {4}, "the headline selects where columns show several metrics"
    assert len(result.cells) == 1
    assert chosen_rates(studied(tmp_path, COLUMNS, made, "correlation")) == {"correlation": 4}, "with one column, too"


def test_the_one_metric_that_all_columns_show_selects(tmp_path: Path) -> None:
    text = COLUMNS.replace('metric = "accuracy"', 'metric = "matthews"')
    text = text.replace('task = "mood"\n\n', 'task = "mood"\nmetric = "matthews"\n\n', 1)
    result = studied(tmp_path, text, metric_dependent(tmp_path))
    assert set(chosen_rates(result).values()) == {8}
    assert any(note.endswith("selected by matthews") for note in as_json(result)["notes"])


def test_a_column_may_select_for_itself_and_says_so(tmp_path: Path) -> None:
    made, begun = metric_dependent(tmp_path), list[str]()

    class Counting(Local):
        def run(self, fits: Iterable[Fit], runner: FitRunner) -> Iterator[tuple[Fit, Record]]:
            fits = list(fits)
            begun.extend(fit.id for fit in fits)
            yield from super().run(fits, runner)

    text = COLUMNS.replace('metric = "matthews"', 'metric = "matthews"\nselect-by = "matthews"')
    (tmp_path / "study.toml").write_text(text)
    result = run_study(study_of_file(str(tmp_path / "study.toml"), made), made, executor=Counting())
    assert len(begun) == len(set(begun)) == 2, "three columns share two fits"
    assert chosen_rates(result) == {"accuracy": 4, "correlation": 8, "accuracy again": 4}
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


TWO_SPLITS = COLUMNS.replace('metric = "matthews"', 'split = "far"').replace('metric = "accuracy"', 'split = "near"')


def test_columns_of_two_splits_show_the_fit_that_is_submitted(tmp_path: Path) -> None:
    result = studied(tmp_path, TWO_SPLITS, split_dependent(tmp_path, select_on=("near",)))
    assert set(chosen_rates(result).values()) == {4}
    assert [cell.cell.columns for cell in result.cells] == [("accuracy", "correlation", "accuracy again")]


def test_a_split_selects_where_the_column_asks_for_it(tmp_path: Path) -> None:
    text = TWO_SPLITS.replace('split = "far"', 'split = "far"\nselect-on = "far"')
    result = studied(tmp_path, text, split_dependent(tmp_path, select_on=("near",)))
    assert chosen_rates(result) == {"accuracy": 4, "correlation": 8, "accuracy again": 4}
    assert "correlation: selected on far" in as_json(result)["notes"]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('select-on = "dev_far"', "has no dev split 'dev_far'; it has dev"),
        ('select-by = "bleu"', "has no metric 'bleu'"),
    ],
)
def test_an_unknown_selection_is_refused(line: str, fault: str, tmp_path: Path) -> None:
    made = metric_dependent(tmp_path)
    (tmp_path / "study.toml").write_text(COLUMNS + line + "\n")
    with pytest.raises(RequestError, match=fault):
        study_of_file(str(tmp_path / "study.toml"), made)


def test_a_study_file_says_how_dev_selects(tmp_path: Path) -> None:
    text = COLUMNS.replace('restarts = "1"', 'restarts = "3"\nselect = "best"\nbias-correction = "false"')
    text += 'recipe = {select = "mean", bias-correction = "true"}\n'
    (tmp_path / "study.toml").write_text(text)
    made = restart_dependent(tmp_path)
    result = run_study(study_of_file(str(tmp_path / "study.toml"), made), made)
    cells = [result.cell_at["words", name] for name in ("accuracy", "accuracy again")]
    recipes = [cell.chosen for cell in cells if cell is not None and cell.chosen is not None]
    assert [(recipe.lr, recipe.bias_correction) for recipe in recipes] == [(4, False), (8, True)]
    with pytest.raises(RequestError, match="the metric of each column selects: leave select-by out"):
        study_of_file(str(tmp_path / "study.toml"), made, options=StudyOptions(select_by="accuracy"))


def test_rows_of_dev_are_those_of_the_whole_study(tmp_path: Path) -> None:
    made = metric_dependent(tmp_path)
    (tmp_path / "study.toml").write_text(COLUMNS.replace("[recipe]", '[recipe]\nlimit-dev = "16"'))
    study = study_of_file(str(tmp_path / "study.toml"), made)
    assert study.limit_dev == 16
    result = run_study(study, made)
    for cell in result.cells:
        assert cell.runner is not None and len(cell.runner.planner.rows(cell.cell.task, "dev")) == 16
    (tmp_path / "study.toml").write_text(COLUMNS + 'recipe = {limit-dev = "16"}\n')
    with pytest.raises(RequestError, match=r"column .*: all systems and columns are scored on equal rows"):
        study_of_file(str(tmp_path / "study.toml"), made)
