"""Metrics whose lower values are better: studies by errors say and choose what studies by hits do, mirrored."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_rungs import FREE

import finished_studies
from benchrunner import ACCURACY, Metric, Regress, Score
from benchrunner.results import Grid, Result, Runner, compared, run_study
from benchrunner.runs.predicting import NO_BETTER, flags_of
from benchrunner.studies.cells import Fitting, Selection, selected_fit
from benchrunner.studies.comparison.footnotes import footnotes
from benchrunner.studies.comparison.layout import NOTHING_PUBLISHED, layout
from chancy import Chancy, compare_rates
from finished_studies import finish, task
from inline import mood, runner
from made_results import said_below
from rate_methods import RestartDependent
from scripted import Scripted, lengths, run


def is_wrong(gold: Any, answer: Any) -> float:
    return float(gold != answer)


def distance(gold: float, answer: float) -> float:
    return abs(gold - answer)


ERRORS = Metric.of_rows("errors", is_wrong, lower_is_better=True)
"""The mirror of accuracy: 1 less it."""
MAE = Metric.of_rows("mae", distance, scale=1.0, lower_is_better=True)
DISTANT = mood(problem=Regress(0, 5), metrics=(MAE,))


def by_errors(folder: Path, method: Any) -> Runner:
    return runner(folder, register_methods=[method], register_tasks=[mood(method=method.name, metrics=(ERRORS,))])


@pytest.mark.parametrize(
    ("method", "rule", "lr", "seed"),
    [(Chancy(), "mean", 8, 2), (RestartDependent(), "mean", 8, 2), (RestartDependent(), "best", 4, 1)],
)
def test_the_grid_point_and_restart_with_least_errors_win(
    method: Chancy, rule: str, lr: int, seed: int, tmp_path: Path
) -> None:
    (cell,) = compare_rates(by_errors(tmp_path, method), selection=Selection(rule=rule)).cells
    assert cell.chosen is not None
    assert (cell.chosen.lr, selected_fit(cell).seed) == (lr, seed)


def test_the_note_on_choosing_says_that_errors_are_lower(tmp_path: Path) -> None:
    class Uneven(Chancy):
        def predict(self, job: Any, table: Any) -> Any:
            right = {(4, 0): 20, (4, 1): 8, (4, 2): 8, (8, 0): 12, (8, 1): 13, (8, 2): 12}
            gold = np.array([label == "glad" for label in table.column("label").to_pylist()])
            is_glad = np.where(np.arange(len(gold)) < right[round(job.fit.recipe.lr), job.fit.seed], gold, ~gold)
            return np.stack([is_glad, ~is_glad], axis=1).astype(np.float32)

    result = compare_rates(by_errors(tmp_path, Uneven()))
    said = [note for note in footnotes(result) if "grid points" in note]
    assert said and "lowers the mean by about" in said[0] and said[0].endswith("that much higher")


def test_a_metric_says_how_many_digits_tables_show(tmp_path: Path) -> None:
    method = Chancy()
    three = replace(ERRORS, scale=1.0, decimals=3)
    made = runner(
        tmp_path, register_methods=[method], register_tasks=[mood(method=method.name, metrics=(three,), suite=None)]
    )
    (line,) = layout(compare_rates(made), NOTHING_PUBLISHED).lines
    *_, majority, mean = line.cells
    assert re.fullmatch(r"0\.\d{3}", majority)
    assert re.match(r"0\.\d{3} ± 0\.\d{3} \[0\.\d{3}, 0\.\d{3}\]", mean)


def by_lengths(folder: Path, right: Any, **choices: Any) -> Result:
    method = Scripted(right)
    made = runner(
        folder, register_methods=[method], register_tasks=[mood(method="scripted", recipe=FREE, metrics=(ERRORS,))]
    )
    return run(made, **choices)


def test_early_stop_waits_for_fewer_errors(tmp_path: Path) -> None:
    scores = {1: 5, 2: 9, 3: 7, 4: 8, 5: 20}
    result = by_lengths(
        tmp_path, lambda lr, epochs, seed: scores[epochs], lr=(1.0,), epochs=(1, 2, 3, 4, 5), early_stop=2
    )
    assert lengths(result) == [1, 2, 3, 4]
    assert result.cells[0].chosen is not None and result.cells[0].chosen.epochs == 2


def test_halving_goes_on_with_the_fewest_errors(tmp_path: Path) -> None:
    result = by_lengths(
        tmp_path,
        lambda lr, epochs, seed: 3 * lr + epochs,
        lr=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
        epochs=(1, 2),
        search="halving",
        seeds=(0, 1),
    )
    longer = [point.recipe.lr for point in result.cells[0].cell.candidates if point.recipe.epochs == 2]
    assert longer == [5.0, 6.0]


def studies(folder: Path, names: tuple[str, ...], levels: dict[str, float]) -> tuple[Result, Result]:
    """Finish the same answers twice: scored by accuracy, and by errors."""
    results = []
    for metric in (ACCURACY, ERRORS):
        tasks = tuple(replace(task(name, rows=120), metrics=(metric,)) for name in ("made/one", "made/two"))
        made = finished_studies.runner(folder / metric.name, tasks, names)
        study = compared(names, tasks, Fitting(Grid({"lr": (3e-5, 2e-5)}), seeds=(0, 1, 2)))
        finish(study, made, levels)
        results.append(run_study(study, made))
    hits, errors = results
    return hits, errors


def test_two_systems_are_better_and_worse_as_by_accuracy(tmp_path: Path) -> None:
    hits, errors = studies(tmp_path, ("made/good", "made/poor"), {"made/good": 0.9, "made/poor": 0.4})
    assert len(errors.statistics.tests) == 2
    tests = zip(hits.statistics.tests.items(), errors.statistics.tests.items(), strict=True)
    for ((system, _, _), by_hits), (_, by_errors) in tests:
        assert system == "made/poor" and by_errors.is_clear
        assert by_errors.comparison.difference == pytest.approx(-by_hits.comparison.difference)
        assert by_errors.comparison.difference > 0 > by_errors.comparison.gain
        assert by_errors.comparison.reversed.gain > 0
        assert by_errors.adjusted_p == pytest.approx(by_hits.adjusted_p)
    for place in errors.statistics.trials:
        standing = errors.entries[place].standing
        assert standing == ("worse" if place[0] == "made/poor" else "")
        mirrored = hits.statistics.trials[place[0], place[1].replace("errors", "accuracy")]
        assert errors.statistics.trials[place] == pytest.approx([1 - hit for hit in mirrored])
    assert any("made/poor is worse than made/good on 2 (" in sentence for sentence in said_below(errors, "conclusion"))
    assert "lower is better: errors" in said_below(errors)
    assert not any("lower is better" in remark for remark in said_below(hits))


def test_the_best_of_three_systems_has_the_fewest_errors(tmp_path: Path) -> None:
    levels = {"made/poor": 0.3, "made/good": 0.95, "made/fair": 0.6}
    hits, errors = studies(tmp_path, tuple(levels), levels)
    assert errors.statistics.mean_ranks == hits.statistics.mean_ranks
    assert errors.statistics.mean_ranks["made/good"].mean == 1
    for of_column in errors.statistics.ranks.values():
        assert [name for name, ranks in of_column.items() if ranks.low == 1] == ["made/good"]
    best = {place[0] for place in errors.figures if errors.entries[place].standing == "best"}
    assert best == {"made/good"}
    assert any("made/good" in sentence and "est" in sentence for sentence in said_below(errors, "conclusion"))


@pytest.mark.parametrize(("mae", "baseline", "is_flagged"), [(0.3, 0.5, False), (0.5, 0.5, True), (0.7, 0.5, True)])
def test_only_a_distance_below_that_of_the_majority_is_better(mae: float, baseline: float, is_flagged: bool) -> None:
    flags = flags_of([1.0, 2.0], DISTANT, {"mae": Score(mae)}, lambda: {"mae": Score(baseline)})
    assert flags == ((NO_BETTER,) if is_flagged else ())


def test_an_error_without_a_baseline_is_not_flagged() -> None:
    assert flags_of([1.0, 2.0], DISTANT, {"mae": Score(0.3)}, lambda: {"mae": Score(None)}) == ()
    assert flags_of([1.0, 2.0], DISTANT, {"mae": Score(None)}, lambda: {"mae": Score(None)}) == (NO_BETTER,)


def test_a_gain_is_more_where_less_is_better() -> None:
    assert (ERRORS.gain(0.25), ACCURACY.gain(0.25)) == (-0.25, 0.25)
    assert math.isfinite(MAE.value([1.0], [3.0])) and MAE.limits(2.0) is None
