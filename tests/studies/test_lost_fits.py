"""Fits of a study without a score, or with a poor one: flagged, failed, diverged or lost."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from benchrunner import RequestError
from benchrunner.engine import Job, Outcome
from benchrunner.errors import FitError, PluginError
from benchrunner.fits.executor import FitRunner
from benchrunner.results import Executor, Fit, Grid, Record, compared, run_study
from benchrunner.studies.cells import Fitting, selected_fit
from benchrunner.studies.comparison.footnotes import footnotes
from benchrunner.studies.comparison.formats import as_table
from benchrunner.studies.comparison.json_values import as_json
from chancy import ACCURACY, Chancy, chancy, compare_rates
from inline import mood, runner
from made_results import lines
from rate_methods import RestartDependent


def test_a_flagged_restart_stays_in_the_mean_and_is_counted(tmp_path: Path) -> None:
    (cell,) = compare_rates(chancy(tmp_path), grid=Grid({"lr": (0,)})).cells
    assert cell.flagged == {"no better than majority": 3}
    assert cell.figures[ACCURACY].values == (0.0, 0.0, 0.0)
    assert cell.figures[ACCURACY].mean.value == 0.0


def test_a_failed_or_diverged_restart_has_no_score_but_a_reason(tmp_path: Path) -> None:
    endings = {0: Outcome("diverged", "the loss was nan"), 1: FitError("out of memory")}
    result = compare_rates(chancy(tmp_path, endings))
    (cell,) = result.cells
    assert sorted(cell.lost.values()) == ["diverged: the loss was nan"] * 2 + ["failed: out of memory"] * 2
    assert cell.figures[ACCURACY].values == (1.0,)
    assert cell.figures[ACCURACY].deviation is None
    notes = "\n".join(footnotes(result))
    assert "have no scores: failed: out of memory" in notes


def test_a_cell_without_a_finished_fit_has_only_a_reason(tmp_path: Path) -> None:
    result = compare_rates(chancy(tmp_path, {0: ValueError("no")}), seeds=(0,))
    (cell,) = result.cells
    assert (cell.selected, dict(cell.figures)) == (None, {})
    with pytest.raises(FitError, match="No fit of words on mine/mood finished: failed: ValueError: no"):
        selected_fit(cell)
    text = as_json(result)
    assert text["cells"][0]["selected"] is None and text["cells"][0]["scores"] == []
    assert lines(as_table(result), 100)


def test_a_fit_that_cannot_predict_is_lost_and_the_others_go_on(tmp_path: Path) -> None:
    class Mute(Chancy):
        def predict(self, job: Job, table: Any) -> np.ndarray:
            if job.fit.seed == 1:
                raise ValueError("speechless")
            if job.fit.seed == 2:
                raise RequestError("max_length is too short for this question")
            return super().predict(job, table)

    made = runner(tmp_path, register_methods=[Mute()], register_tasks=[mood(method="chancy")])
    (cell,) = compare_rates(made, grid=Grid({"lr": (8,)})).cells
    assert [reason[:29] for reason in cell.lost.values()] == [
        "failed: ValueError: speechles",
        "failed: max_length is too sho",
    ]
    assert len(cell.figures[ACCURACY].values) == 1


def test_weights_stay_where_a_later_run_may_select_them(tmp_path: Path) -> None:
    """The rate 8 is selected in place of 4 as soon as its restart that failed is fitted."""

    class Other(RestartDependent):
        RIGHT: ClassVar = {(4, 0): 2, (4, 1): 24, (8, 0): 16, (8, 1): 18}

    for endings in ({0: FitError("out of memory")}, {}):
        task = mood(method="chancy")
        made = runner(tmp_path, register_methods=[Other(endings)], register_tasks=[task])
        (cell,) = compare_rates(made, seeds=(0, 1)).cells
    models = [path.parents[1].name for path in (tmp_path / "runs").glob("*/model/tiny.safetensors")]
    assert models == [selected_fit(cell).id] and selected_fit(cell).recipe.lr == 8


def test_an_executor_that_forgets_fits_is_an_error(tmp_path: Path) -> None:
    class Lazy(Executor):
        name, about = "lazy", "for tests"

        def run(self, fits: Iterable[Fit], runner: FitRunner) -> Iterator[tuple[Fit, Record]]:
            for fit in list(fits)[1:]:
                yield fit, runner.run(fit)

    made = chancy(tmp_path)
    with pytest.raises(PluginError, match="The executor 'lazy' gave no record of 1 of 3 fits"):
        run_study(
            compared(("words",), (made.plugins.tasks.find("mood"),), Fitting(seeds=(0, 1, 2))), made, executor=Lazy()
        )
