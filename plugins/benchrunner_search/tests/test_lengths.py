"""Searches among trainings of several lengths: early stopping, successive halving, and what they leave out."""

from pathlib import Path
from typing import Any

import pytest

from benchrunner import RequestError
from benchrunner.engine import Job, Outcome
from benchrunner.results import StudyOptions, read_study
from benchrunner.studies.comparison.footnotes import footnotes
from inline import mood, runner
from scripted import Scripted, lengths, run, scripted


def test_longer_trainings_stop_when_dev_does_not_improve(tmp_path: Path) -> None:
    scores = {1: 5, 2: 9, 3: 7, 4: 8, 5: 20}
    made, method = scripted(tmp_path, lambda lr, epochs, seed: scores[epochs])
    result = run(made, epochs=(5, 1, 2, 3, 4), lr=(1.0,), seeds=(0, 1), early_stop=2)
    assert [epochs for _, epochs, _ in method.fitted] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert lengths(result) == [1, 2, 3, 4]
    [cell] = result.cells
    assert cell.chosen is not None and cell.chosen.epochs == 2


def test_the_mean_over_restarts_stops_not_one_seed(tmp_path: Path) -> None:
    made, _ = scripted(tmp_path, lambda lr, epochs, seed: 10 - epochs if seed else 10 + 2 * epochs)
    assert lengths(run(made, epochs=(1, 2, 3), lr=(1.0,), seeds=(0, 1), early_stop=1)) == [1, 2, 3]


def test_halving_trains_the_best_third_longer(tmp_path: Path) -> None:
    made, method = scripted(tmp_path, lambda lr, epochs, seed: lr + epochs + seed)
    rates = (1.0, 9.0, 2.0, 8.0, 3.0, 4.0, 5.0, 6.0, 7.0)
    result = run(made, epochs=(1, 3, 9), lr=rates, seeds=(0, 1), search="halving")
    longer = sorted((rate, epochs) for rate, epochs, seed in method.fitted if epochs > 1 and not seed)
    assert longer == [(7.0, 3), (8.0, 3), (9.0, 3), (9.0, 9)]
    [cell] = result.cells
    assert cell.chosen is not None and (cell.chosen.lr, cell.chosen.epochs) == (9.0, 9)


def test_a_method_without_steps_is_not_searched(tmp_path: Path) -> None:
    made, method = scripted(tmp_path, lambda lr, epochs, seed: lr)
    made.plugins.methods.find("scripted").trains_in_steps = False
    result = run(made, epochs=(1, 2), lr=(1.0,), seeds=(0, 1), search="halving")
    assert len(method.fitted) == 2
    assert not [said for said in footnotes(result) if "halving" in said]


def test_lost_fits_end_a_line_in_a_search(tmp_path: Path) -> None:
    def right(lr: float, epochs: int, seed: int) -> int:
        if lr == 9.0:
            raise ValueError("no answer")
        return round(lr)

    made, method = scripted(tmp_path, right)
    run(made, epochs=(1, 2), lr=(1.0, 9.0, 2.0), seeds=(0, 1), search="halving")
    assert {rate for rate, epochs, _ in method.fitted if epochs == 2} == {2.0}


def test_weights_go_when_a_longer_training_is_better(tmp_path: Path) -> None:
    kept = []

    class Watching(Scripted):
        def fit(self, job: Job) -> Outcome:
            models = job.model.parent.parent.glob("*/model")
            kept.append(sum((model.parent / "family.json").exists() for model in models))
            return super().fit(job)

    made = runner(
        tmp_path,
        register_methods=[Watching(lambda lr, epochs, seed: epochs)],
        register_tasks=[mood(method="scripted")],
    )
    run(made, epochs=(1, 2, 3, 4), lr=(1.0,), early_stop=3)
    assert kept == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epochs": (1, 2), "search": "halving"}, "one restart is too few"),
        ({"epochs": (2,), "early_stop": 1}, "give several, such as --epochs 1-10"),
        (
            {"epochs": (1, 2), "search": "halvin", "seeds": (0, 1)},
            "There is no search .halvin.\\. Did you mean halving",
        ),
        ({"epochs": (1, 2), "early_stop": 0}, "from 1 up, not 0"),
    ],
)
def test_a_search_that_cannot_be_is_refused(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    made, method = scripted(tmp_path, lambda lr, epochs, seed: 1)
    with pytest.raises(RequestError, match=words):
        run(made, lr=(1.0,), **options)
    assert not method.fitted


def test_a_stopped_study_is_read_again_as_it_was(tmp_path: Path) -> None:
    made, method = scripted(tmp_path, lambda lr, epochs, seed: -epochs + 9)
    first = run(made, epochs=(1, 2, 3, 4), lr=(1.0,), early_stop=1)
    fitted = len(method.fitted)
    again = run(made, epochs=(1, 2, 3, 4), lr=(1.0,), early_stop=1)
    read = read_study(first.name, made)
    assert len(method.fitted) == fitted == 2
    assert lengths(first) == lengths(again) == lengths(read) == [1, 2]


def test_a_table_says_what_a_search_trained(tmp_path: Path) -> None:
    made, _ = scripted(tmp_path, lambda lr, epochs, seed: lr + epochs + seed)
    result = run(made, epochs=(1, 3), lr=(1.0, 9.0, 2.0), seeds=(0, 1), search="halving")
    said = "\n".join(footnotes(result))
    assert "halving chose which grid points are trained; trained were: words 4 grid points, 8 fits, 12 epochs" in said


@pytest.mark.parametrize(
    ("values", "words"), [({"early_stop": 0}, "from 1 up, not 0"), ({"early_stopp": 1}, "Did you mean early_stop")]
)
def test_options_built_in_python_are_checked(values: dict[str, Any], words: str, tmp_path: Path) -> None:
    made, _ = scripted(tmp_path, lambda lr, epochs, seed: 1)
    with pytest.raises(RequestError, match=words):
        StudyOptions(search=values).study(["words"], list(made.plugins.tasks.values()), made)
