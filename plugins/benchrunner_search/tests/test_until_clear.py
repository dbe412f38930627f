"""Restarts that are added until comparisons are clear: what runs, what is said, and what a repeated study finds."""

import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchrunner import ACCURACY, RequestError, Workspace
from benchrunner.engine import Backbone, Job, Method, Outcome
from benchrunner.results import Grid, Result, Runner, Study, StudyOptions, compared, read_study, run_study
from benchrunner.studies.cells import Fitting
from benchrunner.studies.comparison import as_json
from benchrunner_search.budget import Budget
from benchrunner_statistics import paired_test
from benchrunner_studies.dry_run import dry_run_study
from benchrunner_studies.dry_run_table import as_json as plan_json
from finished_studies import Family, NamedBackbone
from inline import METHODS, SEARCH, mood, own_and, plugins, runner

LOOKS = (2, 3, 5)
BAD, GOOD = [2, 3, 2, 3, 2], [22, 23, 22, 23, 22]
"""Numbers of rows of dev that each restart answers rightly, of 24."""
ONE, LIKE_IT = [12, 16, 11, 15, 13], [13, 12, 16, 11, 14]


class Named(Family):
    """Backbones that are only names; any folder is a saved one."""

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        found = super().find(reference, workspace)
        return NamedBackbone(reference) if found is None and Path(reference).is_dir() else found


class Scripted(Method):
    """Answers as many rows of dev rightly as a script says, by backbone and seed; with a learning rate of 2, eight.

    Where the script says -1, all answers are "sad", the majority's; where it says -2, all but the first sad row's.
    """

    name = "scripted"
    about = "for tests"

    def __init__(self, right: dict[str, list[int]]) -> None:
        self._right = right
        self.fitted = list[tuple[str, int]]()
        self.interrupted_by: int | None = None

    def fit(self, job: Job) -> Outcome:
        if job.fit.seed == self.interrupted_by:
            signal.raise_signal(signal.SIGINT)
            raise KeyboardInterrupt
        self.fitted.append((job.fit.backbone, job.fit.seed))
        job.model.mkdir(parents=True)
        return Outcome()

    def predict(self, job: Job, table: Any) -> np.ndarray:
        gold = table.column("label").to_pylist()
        count = self._right[job.fit.backbone][job.fit.seed] if job.fit.recipe.lr < 2 else 8
        order = np.random.default_rng([job.fit.seed, len(job.fit.backbone)]).permutation(len(gold))
        is_right = order < count
        is_glad = [(label == "glad") == right for label, right in zip(gold, is_right, strict=True)]
        if count < 0:
            is_glad = [count == -2 and row == gold.index("sad") for row in range(len(gold))]
        return np.array([[glad, not glad] for glad in is_glad], dtype=np.float32)


def made(folder: Path, **right: list[int]) -> tuple[Runner, Scripted]:
    method = Scripted(right)
    tasks = [mood(method="scripted")]
    return runner(
        folder, register_methods=[method], register_tasks=tasks, register_backbones=[Named(list(right))]
    ), method


def study_of(made: Runner, *, looks: Sequence[int] = LOOKS, rates: Sequence[float] = (1.0,)) -> Study:
    backbones = list(made.plugins.backbones)
    tasks = tuple(made.plugins.tasks.values())
    return compared(backbones, tasks, Fitting(Grid({"lr": rates}), seeds=tuple(range(looks[-1])), looks=tuple(looks)))


def restarts(result: Result) -> list[int]:
    return [len(cell.chosen_fits) for cell in result.cells]


def p_values(result: Result, made: Runner) -> list[float]:
    """Test the first and the second system at each look, by hand."""
    task = result.cells[0].cell.task
    gold = made.planner.rows(task, "dev").table.column("label").to_pylist()
    first, second = ([cell.predicted(fit, "dev").answers for fit in cell.restarts] for cell in result.cells)
    return [paired_test(ACCURACY, gold, second[:look], first[:look]).p for look in LOOKS if look <= len(first)]


@pytest.mark.parametrize(("one", "other"), [(BAD, GOOD), ([8, 10, 9, 8, 10], [16, 14, 15, 16, 14]), (ONE, LIKE_IT)])
def test_restarts_are_added_until_a_look_is_clear(tmp_path: Path, one: list[int], other: list[int]) -> None:
    offered, method = made(tmp_path, one=one, other=other)
    result = run_study(study_of(offered), offered)
    adjusted = [p * 25 / share for p, share in zip(p_values(result, offered), (4, 5, 16), strict=False)]
    assert all(p >= 0.05 for p in adjusted[:-1])
    assert adjusted[-1] < 0.05 or len(adjusted) == 3
    [test] = result.statistics.tests.values()
    assert test.adjusted_p == pytest.approx(min(1, adjusted[-1]))
    assert test.comparison.confidence == pytest.approx(1 - 0.05 * (4, 5, 16)[len(adjusted) - 1] / 25)
    count = LOOKS[len(adjusted) - 1]
    assert restarts(result) == [count, count] and len(method.fitted) == 2 * count


def test_only_systems_without_a_clear_comparison_get_more(tmp_path: Path) -> None:
    near = {"one": [12, 13, 12, 13, 12], "like": [13, 12, 13, 12, 13]}
    offered, _ = made(tmp_path, **near, good=[24, 23, 24, 23, 24])
    result = run_study(study_of(offered), offered)
    found = {pair[:2]: test for pair, test in result.statistics.tests.items()}
    assert not found["like", "one"].is_clear and found["like", "one"].comparison.restarts == (5, 5)
    looks = {found["good", name].comparison.restarts for name in ("one", "like")}
    assert looks <= {(2, 2), (3, 3)} and restarts(result)[:2] == [5, 5]
    assert {restarts(result)[2]} == {max(looks)[0]}, "the best system stops where both of its comparisons are clear"


def test_a_repeated_study_fits_nothing_and_says_the_same(tmp_path: Path) -> None:
    offered, method = made(tmp_path, one=ONE, other=LIKE_IT)
    first = run_study(study_of(offered), offered)
    fitted = len(method.fitted)
    kept = (tmp_path / "runs" / "studies" / f"{first.name}.json").read_text()
    again = run_study(study_of(offered), offered)
    assert len(method.fitted) == fitted and as_json(again) == as_json(first)
    assert (tmp_path / "runs" / "studies" / f"{first.name}.json").read_text() == kept
    assert as_json(read_study(first.name, offered))["comparisons"] == as_json(first)["comparisons"]


def test_an_interrupted_study_goes_on_to_the_same_result(tmp_path: Path) -> None:
    offered, method = made(tmp_path / "interrupted", one=ONE, other=LIKE_IT)
    method.interrupted_by = 3
    with pytest.raises(KeyboardInterrupt):
        run_study(study_of(offered), offered)
    method.interrupted_by = None
    result = run_study(study_of(offered), offered)
    whole, _ = made(tmp_path / "whole", one=ONE, other=LIKE_IT)
    assert as_json(result)["comparisons"] == as_json(run_study(study_of(whole), whole))["comparisons"]
    assert len(method.fitted) == 10


def test_the_first_look_selects_the_grid_point_that_gets_more(tmp_path: Path) -> None:
    """The point with the learning rate 1 is best in two restarts, and worse than the other in five."""
    offered, _ = made(tmp_path, one=[10, 10, 1, 0, 1], other=[9, 11, 1, 1, 0])
    result = run_study(study_of(offered, rates=(2.0, 1.0)), offered)
    for cell in result.cells:
        assert cell.chosen is not None and cell.chosen.lr == 1
        assert [len(point.fits) for point in cell.cell.candidates] == [2, 5]
    read = read_study(result.name, offered)
    assert [cell.chosen for cell in read.cells] == [cell.chosen for cell in result.cells]


@pytest.mark.parametrize(
    ("right", "reason"),
    [
        ([-1] * 5, "nothing can be said, since no system is better than the majority"),
        ([24] * 5, "equal answers"),
    ],
)
def test_restarts_that_could_show_nothing_are_not_added(right: list[int], reason: str, tmp_path: Path) -> None:
    runner, method = made(tmp_path, one=right, two=right)
    printed = as_json(run_study(study_of(runner), runner))
    assert len(method.fitted) == 4
    assert f"still not clear: mine/mood accuracy ({reason})" in printed["notes"]
    assert "likely to be seen" not in printed["conclusion"]


@pytest.mark.parametrize("others", [1, 2])
def test_constant_answers_are_no_power(others: int, tmp_path: Path) -> None:
    """One row is answered otherwise by one fit: the small variance of this would be a small detectable difference."""
    names = {f"b{number}": [-1] * 3 for number in range(others)}
    runner, _ = made(tmp_path, almost=[-2, -1, -1], **names)
    study = compared(list(runner.plugins.backbones), tuple(runner.plugins.tasks.values()), Fitting(seeds=(0, 1, 2)))
    printed = as_json(run_study(study, runner))
    assert "nothing can be said" in printed["conclusion"] and "under" not in printed["conclusion"]
    assert all(test["detectable"] is None for test in printed["comparisons"])


def test_a_budget_ends_a_study_that_a_larger_one_continues(tmp_path: Path) -> None:
    offered, _ = made(tmp_path, one=ONE, other=LIKE_IT)
    small = run_study(study_of(offered), offered, limit="9 fits")
    assert restarts(small) == [3, 3]
    notes = as_json(small)["notes"]
    assert "with a larger budget, or none, the same command adds restarts to mine/mood accuracy" in notes
    [test] = small.statistics.tests.values()
    points = 100 * test.comparison.detectable
    assert f"still not clear: mine/mood accuracy (likely to be seen from {points:.1f})" in notes
    large = run_study(study_of(offered), offered, limit="10fits")
    assert large.name == small.name and restarts(large) == [5, 5]
    notes = as_json(large)["notes"]
    assert any("still not clear" in note for note in notes) and not any("larger budget" in note for note in notes)


def test_a_budget_of_time_counts_what_records_say(tmp_path: Path) -> None:
    offered, _ = made(tmp_path, one=ONE, other=LIKE_IT)
    assert restarts(run_study(study_of(offered), offered, limit="0.0000001min")) == [2, 2]
    assert restarts(run_study(study_of(offered), offered, limit="4h")) == [5, 5]


def test_the_plan_of_looks_is_said_everywhere(tmp_path: Path) -> None:
    offered, _ = made(tmp_path, one=BAD, other=GOOD)
    values = as_json(run_study(study_of(offered), offered))
    assert values["looks"] == [2, 3, 5]
    assert any("looks at 2, 3, 5; corrected for this" in note for note in values["notes"])
    assert any("corrected for 1 test and 3 looks" in note for note in values["notes"])
    assert any(note.endswith("; restarts 2") for note in values["notes"])


def test_a_dry_run_counts_the_least_and_the_most(tmp_path: Path) -> None:
    offered, _ = made(tmp_path, one=ONE, other=LIKE_IT)
    plan = plan_json(dry_run_study(study_of(offered, rates=(2.0, 1.0)), offered))
    assert (plan["to_run"], [line["added_at_most"] for line in plan["fits"]]) == (8, [3, 3])
    assert any("8 fits at least, 14 at most" in note for note in plan["notes"])


@pytest.mark.parametrize("looks", [(3,), (1, 3), (6, 3), (3, 3), (3, 7)])
def test_looks_that_are_none_are_refused(looks: tuple[int, ...]) -> None:
    with pytest.raises(RequestError, match="two or more numbers of restarts"):
        Fitting(seeds=tuple(range(max(looks[-1] % 7, 2))), looks=looks)


def test_one_way_to_say_the_restarts() -> None:
    with pytest.raises(RequestError, match="Give the restarts once"):
        StudyOptions.named({"restarts": 3, "until_clear": (3, 6)}, {}, plugins())
    below, looks = StudyOptions(restarts=5), StudyOptions.named({"until_clear": (3, 6)}, {}, plugins())
    assert looks.over(below) == looks and below.over(looks) == below


def test_looks_need_a_comparison_and_budgets_looks(tmp_path: Path) -> None:
    offered, _ = made(tmp_path, one=ONE)
    with pytest.raises(RequestError, match="one is compared with nothing"):
        run_study(study_of(offered), offered)
    with pytest.raises(RequestError, match="give --search, --early-stop or --until-clear"):
        run_study(compared(("one",), tuple(offered.plugins.tasks.values())), offered, limit="4h")


def test_looks_need_a_plugin_that_compares(tmp_path: Path) -> None:
    """Without one, the study would stop after its first look and say nothing."""
    bare = Runner(own_and(METHODS, SEARCH), runner(tmp_path).workspace)
    study = compared(("words", "other"), (bare.plugins.tasks.find("mood"),), Fitting(seeds=(0, 1, 2), looks=(2, 3)))
    with pytest.raises(RequestError, match=r"--until-clear.*the plugin 'statistics' does"):
        run_study(study, bare)


def test_budgets_are_read() -> None:
    assert Budget.read("40 fits") == Budget.read("40fits") == Budget(40, "fits")
    assert Budget.read("60epochs") == Budget(60, "epochs")
    assert Budget.read("1.5h") == Budget.read("90 min") == Budget(5400, "seconds")
    for text in ("40", "4 hours", "-1h", "0x1h", ""):
        with pytest.raises(RequestError, match="written as 40fits, 60epochs, 4h or 90min"):
            Budget.read(text)


def test_all_cells_have_the_same_looks(tmp_path: Path) -> None:
    offered, _ = made(tmp_path, one=ONE, other=LIKE_IT)
    study = study_of(offered)
    cell = study.cells[0]
    other = replace(cell, fitting=replace(cell.fitting, looks=(2, 5)))
    with pytest.raises(RequestError, match="have the same until-clear"):
        replace(study, cells=(other, study.cells[1]))
