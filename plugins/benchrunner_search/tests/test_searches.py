"""Searches that a plugin offers: which grid points run, what ends a search, and what is said of its budget."""

import signal
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchrunner import Recipe, RequestError, Task
from benchrunner.command_line.main import main
from benchrunner.errors import PluginError
from benchrunner.fits.search import Search
from benchrunner.results import Grid, Result, Runner, compared, read_study, run_study, watched
from benchrunner.studies import study_run
from benchrunner.studies.comparison.footnotes import footnotes
from benchrunner_studies.dry_run import dry_run_study
from benchrunner_studies.dry_run_table import notes
from benchrunner_studies.recipes import read_recipe
from inline import QUICK, mood, plugins, runner, study_with
from scripted import Scripted, run as run_of, study_of as study_from

RATES = (1.0, 2.0, 3.0, 4.0, 5.0)
run = partial(run_of, seeds=(0, 1))
study_of = partial(study_from, seeds=(0, 1))


class Upwards:
    """Tries two grid points at a time, the highest rates last; after a good score none; notes what it is told."""

    def __init__(self) -> None:
        self.told = list[dict[float, float]]()

    def __call__(self, points: Sequence[Recipe], scores: Mapping[Recipe, float]) -> Sequence[Recipe]:
        self.told.append({point.lr: round(24 * score) if score >= 0 else score for point, score in scores.items()})
        return [] if max(scores.values(), default=0) == 1 else [point for point in points if point not in scores][:2]


def offering(
    folder: Path, right: Any, choose: Any = None, *, tasks: Sequence[Task] = (mood(method="scripted"),)
) -> tuple[Runner, Scripted, Upwards]:
    method, upwards = Scripted(right), Upwards()
    search = Search("upwards", "for tests", choose or upwards, has_trials=True)
    made = runner(
        folder,
        register_methods=[method],
        register_tasks=tasks,
        register_searches=[search],
    )
    return made, method, upwards


def rates(result: Result) -> list[float]:
    return [point.recipe.lr for point in result.cells[0].cell.candidates]


def test_a_search_runs_what_it_asks_for_in_batches(tmp_path: Path) -> None:
    made, method, upwards = offering(tmp_path, lambda lr, epochs, seed: 2 * lr + seed)
    result = run(made, lr=RATES, search="upwards", trials=3)
    assert [rate for rate, _, seed in method.fitted if not seed] == [1, 2, 3]
    assert rates(result) == [1, 2, 3] and result.cells[0].chosen is not None and result.cells[0].chosen.lr == 3
    assert upwards.told[:2] == [{}, {1: 2, 2: 4}], "means over the restarts (2.5 and 4.5 of 24), in the order of asking"


def test_a_search_may_end_before_its_trials(tmp_path: Path) -> None:
    made, _, _ = offering(tmp_path, lambda lr, epochs, seed: 24 if lr == 2 else 1)
    assert rates(run(made, lr=RATES, search="upwards", trials=5)) == [1, 2]


def test_a_lost_point_is_told_as_minus_infinity(tmp_path: Path) -> None:
    def right(lr: float, epochs: int, seed: int) -> int:
        if lr == 1:
            raise ValueError("no answer")
        return 3

    made, _, upwards = offering(tmp_path, right)
    assert rates(run(made, lr=RATES, search="upwards", trials=4)) == [1, 2, 3, 4]
    assert upwards.told[1] == {1: float("-inf"), 2: 3}


def test_an_interrupted_search_goes_on_and_decides_alike(tmp_path: Path) -> None:
    wanted = run(offering(tmp_path / "whole", lambda lr, epochs, seed: lr)[0], lr=RATES, search="upwards", trials=5)
    made, method, _ = offering(tmp_path / "broken", lambda lr, epochs, seed: lr)
    fit = method.fit

    def interrupted(job: Any) -> Any:
        if job.fit.recipe.lr == 3 and job.fit.seed == 1:
            signal.raise_signal(signal.SIGINT)
        return fit(job)

    method.fit = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        run(made, lr=RATES, search="upwards", trials=5)
    method.fit = fit  # type: ignore[method-assign]
    result = run(made, lr=RATES, search="upwards", trials=5)
    assert [fit.id for fit in result.cells[0].cell.fits] == [fit.id for fit in wanted.cells[0].cell.fits]
    assert len(method.fitted) == 10, "nothing was fitted twice"
    assert rates(read_study(result.name, made)) == list(RATES)


@pytest.mark.parametrize(
    ("budget", "tried"), [("4fits", [1, 2]), ("5 fits", [1, 2]), ("18epochs", [1, 2, 3]), ("4h", [1, 2, 3, 4, 5])]
)
def test_a_search_begins_no_point_beyond_the_budget(tmp_path: Path, budget: str, tried: list[float]) -> None:
    made, method, _ = offering(tmp_path, lambda lr, epochs, seed: 1)
    options = {"lr": RATES, "epochs": (3,), "search": "upwards", "trials": 5}
    assert rates(run(made, limit=budget, **options)) == tried
    assert len(method.fitted) == 2 * len(tried)
    assert rates(run(made, **options)) == list(RATES), "without a budget the same search goes on"


def test_time_ends_a_search_after_its_first_points(tmp_path: Path) -> None:
    made, _, _ = offering(tmp_path, lambda lr, epochs, seed: 1)
    assert rates(run(made, limit="0.0000001min", lr=RATES, search="upwards", trials=5)) == [1, 2]


def test_a_budget_leaves_as_many_points_to_each_task(tmp_path: Path) -> None:
    tasks = (mood(method="scripted"), mood(name="mine/long", method="scripted", recipe=QUICK.changed(max_length=64)))
    made, _, _ = offering(tmp_path, lambda lr, epochs, seed: 1, tasks=tasks)
    result = run(made, limit="14fits", lr=RATES, search="upwards", trials=4)
    assert [len(cell.cell.candidates) for cell in result.cells] == [3, 3]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"search": "upwards"}, "give --trials, such as --trials 8"),
        ({"trials": 2}, "The option trials is the number of grid points that a search tries"),
        (
            {"search": "halving", "trials": 2, "epochs": (1, 2)},
            "give it with --search gp or random or tpe or upwards, or leave it out",
        ),
        ({"search": "upwards", "trials": 2, "early_stop": 1, "epochs": (1, 2)}, "leave early-stop out"),
        ({"search": "downwards", "trials": 2}, "There is no search 'downwards'. Did you mean upwards"),
    ],
)
def test_a_search_that_cannot_be_is_refused(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    made, method, _ = offering(tmp_path, lambda lr, epochs, seed: 1)
    with pytest.raises(RequestError, match=words):
        run(made, **({"lr": RATES} | options))
    assert not method.fitted


def test_a_budget_too_small_for_one_point_is_refused(tmp_path: Path) -> None:
    made, method, _ = offering(tmp_path, lambda lr, epochs, seed: 1)
    with pytest.raises(RequestError, match="does not pay for a grid point of each system"):
        run(made, limit="1fits", lr=RATES, search="upwards", trials=5)
    assert not method.fitted


def test_an_error_of_a_search_names_it(tmp_path: Path) -> None:
    made, _, _ = offering(tmp_path, lambda lr, epochs, seed: 1, lambda points, scores: 1 / 0)
    with pytest.raises(PluginError, match=r"The search 'upwards' failed: .*division by zero"):
        run(made, lr=RATES, search="upwards", trials=5)


def test_options_know_the_searches_of_plugins(tmp_path: Path) -> None:
    made, _, _ = offering(tmp_path, lambda lr, epochs, seed: 1)
    options = read_recipe({"search": "upwards", "trials": "3"}, "here", made.plugins)
    assert options.search == {"search": "upwards", "trials": 3}
    with pytest.raises(RequestError, match="Did you mean halving"):
        read_recipe({"search": "halve"}, "here", made.plugins)


def test_searches_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    offered = plugins(register_searches=[Search("upwards", "the best is above", Upwards())])
    assert main(["list", "searches"], plugins=offered) == 0
    assert "upwards  the best is above" in capsys.readouterr().out


def test_a_dry_run_counts_the_trials(tmp_path: Path) -> None:
    made, _, _ = offering(tmp_path, lambda lr, epochs, seed: 1)
    study = study_of(made, lr=RATES, search="upwards", trials=3)
    said = "\n".join(notes(dry_run_study(study, made)))
    assert "6 to run" in said and "these are the most fits" in said


def test_later_looks_leave_what_a_search_decided(tmp_path: Path) -> None:
    """Halving takes 1 of 3 rates to 3 epochs, where it is worse. The chosen point alone gets more restarts."""

    def right(lr: float, epochs: int, seed: int) -> int:
        return {1: lr, 3: 1.0}[epochs] + seed  # type: ignore[return-value]

    other = Scripted(lambda lr, epochs, seed: right(lr, epochs, seed) + 1)
    other.name = "other"
    made = runner(tmp_path, register_methods=[Scripted(right), other], register_tasks=[mood(method="scripted")])
    study = study_of(
        made,
        lr=(5.0, 6.0, 7.0),
        epochs=(1, 3),
        methods=("scripted", "other"),
        seeds=(0, 1, 2),
        looks=(2, 3),
        search="halving",
    )
    first, more = run_study(study, made, limit="16fits"), run_study(study, made)
    for result, restarts in ((first, 2), (more, 3)):
        for cell in result.cells:
            assert cell.chosen is not None and (cell.chosen.lr, cell.chosen.epochs) == (7, 1)
            assert (len(cell.cell.candidates), len(cell.chosen_fits)) == (4, restarts)


def said_of(made: Runner, grids: dict[str, Grid], **choices: Any) -> str:
    """Compare systems that have grids of their own, and return the notes."""
    tasks = tuple(made.plugins.tasks.values())
    studies = [study_with({name: "words"}, tasks, grid=grid, seeds=(0, 1), **choices) for name, grid in grids.items()]
    first, second = studies
    study = compared({name: name for name in grids}, tasks)
    study = type(study)(first.systems + second.systems, first.columns, first.cells + second.cells)
    return "\n".join(footnotes(run_study(study, made)))


def test_different_budgets_are_said_with_the_fair_figure(tmp_path: Path) -> None:
    made, _, _ = offering(tmp_path, lambda lr, epochs, seed: 2 * lr)
    said = said_of(made, {"wide": Grid({"lr": (3.0, 6.0, 9.0)}), "one": Grid({"lr": (6.0,)})}, changes={"epochs": 2})
    assert "wide 3 grid points, 6 fits, 12 epochs; one 1 grid point, 2 fits, 4 epochs" in said
    assert "favours the system with more grid points" in said
    assert "to be expected of 1 grid point: wide 50.0, one 50.0" in said, "the mean of 6, 12 and 18 of 24, and 12"


def test_longer_trainings_are_a_larger_budget(tmp_path: Path) -> None:
    made, _, _ = offering(tmp_path, lambda lr, epochs, seed: 2 * lr)
    said = said_of(made, {"long": Grid({"epochs": (4,)}), "short": Grid({"epochs": (2,)})}, changes={"lr": 6.0})
    assert "the systems had different budgets: long 1 grid point, 2 fits, 8 epochs; short 1 grid point" in said
    assert "favours" not in said


def test_equal_budgets_are_not_mentioned(tmp_path: Path) -> None:
    made, _, _ = offering(tmp_path, lambda lr, epochs, seed: 2 * lr)
    assert "budget" not in said_of(made, {"a": Grid({"lr": (3.0, 6.0)}), "b": Grid({"lr": (4.0, 5.0)})})


def test_progress_counts_the_fits_that_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = list[int]()

    def counted(reports: Any, weights: Any, *, show: bool) -> Any:
        counts.append(len(weights))
        return watched(reports, weights, show=False)

    monkeypatch.setattr(study_run, "watched", counted)
    made, _, _ = offering(tmp_path, lambda lr, epochs, seed: 1)
    run_study(study_of(made, lr=RATES, search="upwards", trials=3), made, show_progress=True)
    assert counts == [2 * 2, 1 * 2], "two batches of points with two restarts"


def test_a_dry_run_does_not_guess_which_points_are_tried(tmp_path: Path) -> None:
    made, method, _ = offering(tmp_path, lambda lr, epochs, seed: 1)
    run(made, lr=RATES[:2], epochs=(1, 2), seeds=(0,))
    assert len(method.fitted) == 4
    plan = dry_run_study(study_of(made, lr=RATES, epochs=(1, 2), search="upwards", trials=2), made)
    assert {fit.recipe.epochs for fit in plan.fits} == {2} and plan.to_run == len(plan.fits) == 4
    assert any("which grid points a search tries is known as it runs" in said for said in notes(plan))


def test_points_that_are_not_of_the_grid_end_a_search(tmp_path: Path) -> None:
    made, _, _ = offering(tmp_path, lambda lr, epochs, seed: 1, lambda points, scores: [Recipe(lr=77.0), points[0]])
    assert rates(run(made, lr=RATES, search="upwards", trials=4)) == [1]
