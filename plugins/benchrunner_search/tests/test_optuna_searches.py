"""Optuna's samplers choose grid points: which ones, in which batches, and that a repeated search decides alike."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import optuna
import pytest

import benchrunner_search
from benchrunner import Recipe
from benchrunner.engine import Job, Method, Outcome
from benchrunner.results import Grid, Runner, StudyOptions, discover, run_study
from benchrunner_search.axes import Axes
from benchrunner_search.proposals import BATCH, FIRST_POINTS, next_points
from inline import mood, runner

GRID = Grid({"lr": (1e-5, 2e-5, 4e-5, 8e-5), "batch_size": (32, 16, 8), "schedule": ("cosine", "constant")})
POINTS = tuple(GRID.points(Recipe()))
SAMPLERS = ("gp", "random", "tpe")


def good(point: Recipe) -> float:
    """Score best with the second rate, batches of 16 and the constant schedule."""
    return -abs(point.lr - 2e-5) * 1e5 - abs(point.batch_size - 16) / 16 - (point.schedule != "constant")


def searched(
    sampler: str, score: Callable[[Recipe], float], trials: int, points: Sequence[Recipe] = POINTS
) -> dict[Recipe, float]:
    scores = dict[Recipe, float]()
    while len(scores) < trials and (batch := next_points(points, scores, sampler=sampler)):
        scores |= {point: score(point) for point in batch}
    return scores


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_each_point_is_tried_once_and_then_none(sampler: str) -> None:
    few = POINTS[: 2 * BATCH]
    scores = searched(sampler, good, 100, few)
    assert set(scores) == set(few)
    assert next_points(few, scores, sampler=sampler) == []


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_equal_scores_give_equal_points_in_batches(sampler: str) -> None:
    scores = searched(sampler, good, 8)
    again = searched(sampler, good, 8)
    assert list(scores) == list(again) and len(scores) == 2 * BATCH


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_only_the_missing_points_of_a_batch_are_asked_again(sampler: str) -> None:
    scores = searched(sampler, good, 8)
    missing = list(scores)[5]
    left = {point: score for point, score in scores.items() if point != missing}
    assert next_points(POINTS, left, sampler=sampler) == [missing]


def test_the_order_in_which_fits_finish_changes_nothing() -> None:
    scores = searched("tpe", good, 8)
    backwards = dict(reversed(scores.items()))
    assert next_points(POINTS, scores, sampler="tpe") == next_points(POINTS, backwards, sampler="tpe")


def test_a_failed_point_is_no_score() -> None:
    """Were a lost point told as a very low score, or any score, the next proposals would be others."""
    best = min(POINTS, key=good)
    scores = searched("tpe", lambda point: float("-inf") if good(point) < -2 else good(point), 8)
    assert any(score == float("-inf") for score in scores.values())
    assert best not in scores or scores[best] == float("-inf")
    assert len(next_points(POINTS, scores, sampler="tpe")) == BATCH


def test_points_are_those_that_optuna_itself_proposes() -> None:
    """The first batch is drawn by the sampler alone, with its seed."""
    axes = Axes(POINTS)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0, n_startup_trials=FIRST_POINTS))
    proposed = [study.ask(axes.distributions).params for _ in range(BATCH)]
    assert [axes.places[point] for point in next_points(POINTS, {}, sampler="tpe")] == proposed


def test_numbers_are_ordered_and_words_are_not() -> None:
    axes = Axes(POINTS)
    kinds = {name: type(distribution).__name__ for name, distribution in axes.distributions.items()}
    assert kinds == {
        "lr": "IntDistribution",
        "batch_size": "IntDistribution",
        "schedule": "CategoricalDistribution",
    }
    assert axes.places[POINTS[0]] == {"lr": 0, "batch_size": 2, "schedule": 0}


def test_a_trained_place_gives_the_nearest_other_point() -> None:
    axes = Axes(POINTS)
    place = axes.places[POINTS[0]]
    nearest = axes.nearest(place, POINTS[1:])
    assert (nearest.lr, nearest.batch_size, nearest.schedule) == (2e-5, 32, "cosine"), "a third of an axis away"


def test_sampled_points_are_better_than_random_ones() -> None:
    """Over many landscapes, 12 of 24 points by TPE have a better best score than 12 random ones."""

    def landscape(best: Recipe) -> Callable[[Recipe], float]:
        place: Mapping[str, int] = Axes(POINTS).places[best]
        axes = Axes(POINTS)
        return lambda point: -sum((axes.places[point][name] - place[name]) ** 2 for name in place)

    found = {
        name: sum(max(searched(name, landscape(best), 12).values()) for best in POINTS[::2]) for name in SAMPLERS[1:]
    }
    assert found["tpe"] > found["random"]


def test_optuna_says_nothing_of_its_trials(capfd: pytest.CaptureFixture[str]) -> None:
    before = optuna.logging.get_verbosity()
    next_points(POINTS, {}, sampler="tpe")
    assert capfd.readouterr() == ("", "")
    assert optuna.logging.get_verbosity() == before


def test_the_plugin_offers_searches_with_trials() -> None:
    offered = discover(extra=[("search", benchrunner_search)], installed=False)
    assert not offered.set_aside
    assert {name for name, search in offered.searches.items() if search.has_trials} == set(SAMPLERS)


class Right(Method):
    """Answers more rows of dev rightly the nearer the learning rate is to 4."""

    name = "right"
    about = "for tests"

    def __init__(self) -> None:
        self.fitted = list[float]()

    def fit(self, job: Job) -> Outcome:
        self.fitted.append(job.fit.recipe.lr)
        job.model.mkdir(parents=True)
        assert job.backbone is not None
        job.backbone.load(job.workspace, seed=0).save(job.model)
        return Outcome()

    def predict(self, job: Job, table: object) -> object:
        import numpy as np

        gold = table.column("label").to_pylist()  # type: ignore[attr-defined]
        right = 20 - 2 * abs(job.fit.recipe.lr - 4)
        is_glad = [(label == "glad") == (number < right) for number, label in enumerate(gold)]
        return np.array([[glad, not glad] for glad in is_glad], dtype=np.float32)


def searching(folder: Path) -> tuple[Runner, Right]:
    method = Right()
    return runner(folder, register_methods=[method], register_tasks=[mood(method="right")]), method


def test_a_study_searches_and_repeats_without_a_fit(tmp_path: Path) -> None:
    made, method = searching(tmp_path)
    recipe = {"lr": tuple(map(float, range(1, 9)))}
    options = StudyOptions(recipe=recipe, restarts=2, search={"search": "tpe", "trials": 6})
    study = options.study(["words"], list(made.plugins.tasks.values()), made)
    first, again = run_study(study, made), run_study(study, made)
    assert len(method.fitted) == 12 and len(set(method.fitted)) == 6
    assert [cell.cell for cell in first.cells] == [cell.cell for cell in again.cells]
