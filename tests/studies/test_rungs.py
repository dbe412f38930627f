"""Trainings of several lengths: which go on from shorter ones, and that their weights are the same."""

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchrunner import Recipe, RequestError
from benchrunner.fits.fit import Fit
from benchrunner.fits.progress import Event
from benchrunner.results import Grid, Result, Runner, compared, run_study
from benchrunner.studies.cells import Cell, Fitting
from benchrunner.studies.planning import shorter_recipes
from benchrunner_studies.dry_run import dry_run_study
from benchrunner_studies.dry_run_table import notes
from benchrunner_studies.recipes import read_recipe
from inline import mood, runner
from scripted import run, scripted, study_of

FREE = Recipe(lr=0.02, batch_size=8, schedule="constant", warmup=2.0)
"""A recipe whose first steps do not depend on the number of all steps."""


def test_steps_and_epochs_together_are_one_line_by_length(tmp_path: Path) -> None:
    """With eight steps in an epoch, six steps of two epochs are shorter than one epoch."""
    recipes = [FREE.changed(epochs=epochs, max_steps=steps) for epochs in (1, 2) for steps in (6, None)]
    shorter = shorter_recipes(recipes, 64, Cell("words", mood()))
    lengths = [(recipe.passes(64), before.passes(64)) for recipe, before in shorter.items()]
    assert lengths == [(0.75, 0.75), (1.0, 0.75), (2.0, 1.0)]


def test_a_limit_beyond_all_rows_is_no_fit_of_its_own(tmp_path: Path) -> None:
    made, method = scripted(tmp_path, lambda lr, epochs, seed: lr)
    tasks = tuple(made.plugins.tasks.values())
    run_study(compared(("words",), tasks, limits=(8, 5_000, None)), made)
    assert len(method.fitted) == 2


def trained(folder: Path, recipe: Recipe, epochs: tuple[int, ...], **options: Any) -> tuple[Result, Runner]:
    made = runner(folder, register_tasks=[mood(recipe=recipe)])
    return run(made, **{"epochs": epochs, "seeds": (0, 1), "keep": "all", **options}), made


def weights(result: Result, made: Runner) -> Mapping[str, bytes]:
    """Return the content of all files of each fit's model, by the fit's id."""
    models = {}
    for fit in result.cells[0].cell.fits:
        files = sorted(made.folder(fit).model.iterdir())
        models[fit.id] = b"".join(file.read_bytes() for file in files)
    return models


FORMS = (
    FREE,
    FREE.changed(schedule="inverse-sqrt", dropout=0.2),
    FREE.changed(schedule="trapezoid", cooldown=0.2),
    FREE.changed(schedule="trapezoid", cooldown=9.0, bias_correction=False),
)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """The weights of fits of three lengths with two seeds each."""
    return weights(*trained(tmp_path_factory.mktemp("unbroken"), FREE, (1, 2, 3)))


@pytest.mark.parametrize("recipe", FORMS, ids=lambda recipe: recipe.schedule)
def test_fits_that_go_on_equal_fits_alone_bit_for_bit(tmp_path: Path, recipe: Recipe) -> None:
    together = weights(*trained(tmp_path / "together", recipe, (1, 2), seeds=(0,)))
    for name, content in weights(*trained(tmp_path / "alone", recipe, (2,), seeds=(0,))).items():
        assert together[name] == content, name


def steps_taken(made: Runner) -> list[tuple[int, int]]:
    """Let a runner note the epochs of each fit and the number of each of its steps."""
    steps = list[tuple[int, int]]()

    def report(fit: Fit, event: Event) -> None:
        if event.kind == "step":
            steps.append((fit.recipe.epochs, round(event.done)))

    made.observers.report = report
    return steps


def test_one_training_gives_every_length(tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[mood(recipe=FREE)])
    steps = steps_taken(made)
    run(made, epochs=(1, 2, 3))
    assert [step for _, step in steps] == list(range(1, 19))  # 48 rows in batches of 8, three times
    assert not list(tmp_path.glob("**/state"))


def test_a_cooldown_of_each_length_branches_off(tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[mood(recipe=FREE.changed(schedule="trapezoid", cooldown=2.0))])
    steps = steps_taken(made)
    run(made, epochs=(1, 2))
    assert [step for epochs, step in steps if epochs == 2] == list(range(5, 13))


def test_numbers_of_steps_are_lengths_too(tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[mood(recipe=FREE.changed(epochs=3))])
    steps = steps_taken(made)
    tasks = tuple(made.plugins.tasks.values())
    run_study(compared(("words",), tasks, Fitting(Grid({"max_steps": (4, None, 8)}))), made)
    assert [step for _, step in steps] == list(range(1, 19))


def checkpoints(made: Runner, *stops: int | None) -> Result:
    """Train one fit on a schedule of 18 steps that decays, and stop copies of it earlier."""
    tasks = tuple(made.plugins.tasks.values())
    study = compared(("words",), tasks, Fitting(Grid({"stop_at": stops}), keep="all"))
    return run_study(study, made)


def test_checkpoints_of_a_decaying_fit_are_one_training(tmp_path: Path) -> None:
    decaying = FREE.changed(epochs=3, schedule="released", warmup=0.1)
    made = runner(tmp_path / "one", register_tasks=[mood(recipe=decaying)])
    steps = steps_taken(made)
    together = weights(checkpoints(made, 4, None, 11), made)
    assert [step for _, step in steps] == list(range(1, 19)), "six steps an epoch, three epochs"
    for stop in (4, 11, None):
        alone = runner(tmp_path / str(stop), register_tasks=[mood(recipe=decaying)])
        for name, content in weights(checkpoints(alone, stop), alone).items():
            assert together[name] == content, (stop, name)


@pytest.mark.parametrize(("keep", "taken"), [("all", 6), ("selected", 12 + 6)])
def test_a_later_study_goes_on_from_a_kept_state(keep: str, taken: int, tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[mood(recipe=FREE)])
    run(made, epochs=(1,), keep=keep)
    run(made, epochs=(1, 2), keep=keep)
    steps = steps_taken(made)
    tasks = tuple(made.plugins.tasks.values())
    plan = dry_run_study(compared(("words",), tasks, Fitting(Grid({"epochs": (1, 2, 3)}))), made)
    run(made, epochs=(1, 2, 3), keep=keep)
    assert len(steps) == taken
    assert sum(fit.rows for fit in plan.fits if not fit.is_finished) == 8 * taken


def test_a_checkpoint_goes_on_in_its_own_schedule_only(tmp_path: Path) -> None:
    decaying = FREE.changed(schedule="released")
    recipes = [decaying.changed(epochs=epochs, stop_at=stop) for epochs in (1, 2) for stop in (3, None)]
    shorter = shorter_recipes(recipes, 64, Cell("words", mood()))
    assert all(recipe.epochs == before.epochs for recipe, before in shorter.items())


@pytest.mark.parametrize("changes", [{"schedule": "released"}, {"warmup": 0.1}, {"schedule": "cosine"}])
def test_a_rate_that_depends_on_the_length_trains_anew(tmp_path: Path, changes: dict[str, Any]) -> None:
    made = runner(tmp_path, register_tasks=[mood(recipe=FREE.changed(**changes))])
    steps = steps_taken(made)
    run(made, epochs=(1, 2))
    assert len(steps) == 6 + 12


@pytest.mark.parametrize("at", [3, 12, 13])
def test_a_study_that_is_stopped_anywhere_gives_the_same(
    tmp_path: Path, at: int, unbroken: Mapping[str, bytes]
) -> None:
    made = runner(tmp_path / "broken", register_tasks=[mood(recipe=FREE)])
    steps = list[int]()

    def report(fit: Fit, event: Event) -> None:
        if event.kind == "step":
            steps.append(round(event.done))
            if len(steps) == at:
                signal.raise_signal(signal.SIGINT)

    made.observers.report = report
    with pytest.raises(KeyboardInterrupt):
        run(made, epochs=(1, 2, 3), seeds=(0, 1), keep="all")
    made.observers.report = lambda fit, event: None
    assert weights(run(made, epochs=(1, 2, 3), seeds=(0, 1), keep="all"), made) == unbroken


def test_a_damaged_state_makes_a_fit_begin_anew(tmp_path: Path, unbroken: Mapping[str, bytes]) -> None:
    made = runner(tmp_path / "damaged", register_tasks=[mood(recipe=FREE)])

    def report(fit: Fit, event: Event) -> None:
        for state in (tmp_path / "damaged").glob("**/state/*"):
            state.write_bytes(b"no state")

    made.observers.report = report
    made_anew = weights(run(made, epochs=(1, 2), seeds=(0,), keep="all"), made)
    assert made_anew.items() <= unbroken.items()


def test_ranges_are_values_of_a_grid(tmp_path: Path) -> None:
    texts = {"epochs": "1-4,8", "max-steps": "100-400:100,1000"}
    options = read_recipe(texts, "here", runner(tmp_path).plugins)
    assert options.recipe["epochs"] == (1, 2, 3, 4, 8)
    assert options.recipe["max_steps"] == (100, 200, 300, 400, 1000)


@pytest.mark.parametrize("text", ["4-1", "2-2", "1-5000", "1-", "-3", "1-4:0", "1-4:9"])
def test_a_range_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(RequestError, match="epochs"):
        read_recipe({"epochs": text}, "here", runner(tmp_path).plugins)


def plan_notes(made: Runner, **choices: Any) -> str:
    return "\n".join(notes(dry_run_study(study_of(made, **choices), made)))


def test_a_dry_run_counts_the_rows_that_are_left(tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[mood(recipe=FREE)])
    said = plan_notes(made, epochs=(1, 2, 4), seeds=(0, 1), early_stop=1)
    assert "6 to run, which read 384 rows" in said  # 48 rows, four times, for two seeds
    assert "these are the most fits" in said


def test_a_dry_run_counts_all_rows_where_no_state_is_left(tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[mood(recipe=FREE)])
    tasks = tuple(made.plugins.tasks.values())
    run_study(compared(("words",), tasks, Fitting(Grid({"epochs": (1, 2)}))), made)
    [line] = dry_run_study(compared(("words",), tasks, Fitting(Grid({"epochs": (1, 2, 5)}))), made).lines
    assert line.rows == 5 * len(made.planner.rows(tasks[0], "train"))


def test_a_dry_run_says_why_lengths_are_trained_alone(tmp_path: Path) -> None:
    said = plan_notes(runner(tmp_path, register_tasks=[mood()]), epochs=(1, 2))
    assert "each number of epochs is a training of its own" in said and "warmup as a number of steps" in said


@pytest.mark.parametrize(
    ("scores", "said"),
    [({(1, 0): 8, (1, 1): 20, (2, 0): 14, (2, 1): 13}, 14 - 10.5), ({(1, 0): 8, (1, 1): 8, (2, 0): 9, (2, 1): 9}, 0)],
)
def test_what_dev_gains_by_choosing_is_estimated(
    tmp_path: Path, scores: dict[tuple[int, int], int], said: float
) -> None:
    """Of 24 rows. Without its own score, restart 0 has 8 right at the point of restart 1, and 1 has 13 at that of 0."""
    made, _ = scripted(tmp_path, lambda lr, epochs, seed: scores[epochs, seed])
    result = run(made, epochs=(1, 2), lr=(1.0,), seeds=(0, 1))
    found = [note for note in result.cells[0].notes if "dev chose among 2 grid points" in note]
    assert len(found) == bool(said)
    if said:
        assert f"raises the mean by about {100 * said / 24:.1f}:" in found[0]
