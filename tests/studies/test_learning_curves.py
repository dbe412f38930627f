"""Learning curves over training rows: their systems, samples, tests, table, and what is refused."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import finished_studies
from benchrunner import RequestError, Workspace
from benchrunner.results import Result, Runner, StudyOptions, compared, read_study, run_study
from benchrunner.studies.cells import Fitting
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.studies.comparison.layout import NOTHING_PUBLISHED, layout
from benchrunner.studies.contrasts import compared_with
from benchrunner.studies.study import Study
from benchrunner.tasks.row_sample import sample
from benchrunner_studies.settling import study_of_file
from finished_studies import finish, task
from inline import QUICK, mood, plugins
from study_texts import write_study

SKILLS = {"quick (8 rows)": 0.6, "quick (40 rows)": 0.7, "quick (all rows)": 0.75,
          "slow (8 rows)": 0.4, "slow (40 rows)": 0.65, "slow (all rows)": 0.97}  # fmt: skip
FILE = """title = "Rows"
axis = "training rows"
recipe = {restarts = "5"}

[[system]]
each = {model = "quick,slow", rows = "8,40,all"}
name = "{model} {rows}"
backbone = "{model}"
series = "{model}"
at = "{rows}"
recipe = {limit-train = "{rows}"}

[[column]]
name = "made"
task = "made/classify"
"""


def curve(limits: tuple[int | None, ...] = (8, 40, None), seeds: int = 5, names: tuple[str, ...] = ("quick", "slow"),
          **changes: Any) -> Study:  # fmt: skip
    made = task("made/classify", rows=120)
    return compared(names, (made,), Fitting(seeds=tuple(range(seeds)), changes=changes), limits=limits)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Runner]:
    folder = tmp_path_factory.mktemp("curve")
    study = curve()
    made = finished_studies.runner(folder, study.tasks, ("quick", "slow"))
    finish(study, made, SKILLS)
    return run_study(study, made, keep_as="curve"), made


def test_each_number_of_rows_is_a_point_of_a_line() -> None:
    study = curve((40, None, 8))
    assert study.lines == {
        "quick": {8: "quick (8 rows)", 40: "quick (40 rows)", None: "quick (all rows)"},
        "slow": {8: "slow (8 rows)", 40: "slow (40 rows)", None: "slow (all rows)"},
    }
    assert list(study.lines["quick"]) == [8, 40, None], "in the order of the axis"
    cells = {cell.system: cell.fitting.changes["limit_train"] for cell in study.cells}
    assert cells["slow (40 rows)"] == 40 and cells["slow (all rows)"] is None
    assert study.fitting is not None and study.fitting.seeds == (0, 1, 2, 3, 4)


def test_fits_of_all_rows_are_those_of_a_study_without_a_curve(tmp_path: Path, finished: tuple[Result, Runner]) -> None:
    """Fewer rows are sampled: the whole set has no sample in its identity, and a point has that of its own option."""
    result, made = finished
    plain = compared(("quick",), result.study.tasks, Fitting(seeds=tuple(range(5))))
    alone = compared(("quick",), result.study.tasks, Fitting(seeds=(3,), changes={"limit_train": 8}))
    finish(alone, finished_studies.runner(tmp_path, alone.tasks, ("quick",)), {"quick": 0.5})
    found = {cell.cell.system: [fit.id for fit in cell.cell.fits] for cell in result.cells}
    (whole,) = run_study(plain, made, keep_as="plain").cells
    assert found["quick (all rows)"] == [fit.id for fit in whole.cell.fits]
    assert (tmp_path / "runs" / found["quick (8 rows)"][3]).is_dir()


def test_tests_are_between_equal_numbers_of_rows_only(finished: tuple[Result, Runner]) -> None:
    tests = finished[0].statistics.tests
    assert [pairing[:2] for pairing in tests] == [
        ("slow (8 rows)", "quick (8 rows)"),
        ("slow (40 rows)", "quick (40 rows)"),
        ("slow (all rows)", "quick (all rows)"),
    ]
    assert not finished[0].statistics.ranks


def test_series_are_tested_where_both_have_points(finished: tuple[Result, Runner]) -> None:
    study = finished[0].study
    systems = tuple(system for system in study.systems if system.name not in ("quick (8 rows)", "slow (all rows)"))
    some = replace(finished[0], study=replace(study, systems=systems))
    assert [pairing[:2] for pairing in some.statistics.tests] == [("slow (40 rows)", "quick (40 rows)")]


def test_a_single_line_is_not_compared_with_itself() -> None:
    assert curve(names=("quick",)).pairs == ()


def test_series_are_compared_with_one_of_them() -> None:
    study = curve(names=("a/quick", "b/slow", "c/late"))
    assert compared_with(study, "slow").pairs == (("a/quick", "b/slow"), ("c/late", "b/slow"))


def test_the_table_has_lines_down_and_rows_across(finished: tuple[Result, Runner]) -> None:
    shown = layout(finished[0], NOTHING_PUBLISHED)
    assert shown.headers == (
        "backbone\nby training rows",
        *(f"made/classify\naccuracy\n{at}" for at in ("8", "40", "all")),
    )
    assert [line.cells[0] for line in shown.lines] == ["quick", "", "slow", "", "majority"]
    means = [cell.split(" ")[0] for cell in shown.lines[2].cells[1:]]
    figures = finished[0].figures
    expected = [figures[f"slow ({at} rows)", "made/classify accuracy"].mean.value for at in ("8", "40", "all")]
    assert means == [f"{100 * (mean or 0):.1f}" for mean in expected]
    assert all(" *" in line.cells[1] for line in shown.lines[2:3]), "slow is clearly worse with 8 rows"


def test_a_curve_has_places_and_intervals_in_json(finished: tuple[Result, Runner]) -> None:
    result, made = finished
    printed = as_json(result)
    (line,) = [line for line in printed["series"] if (line["series"], line["column"][-8:]) == ("slow", "accuracy")]
    assert line["at"] == [8, 40, 120] and len(line["interval_over_examples"]) == 3
    assert as_json(read_study("curve", made)) == printed


def test_a_study_file_says_the_same(tmp_path: Path, finished: tuple[Result, Runner]) -> None:
    result, made = finished
    study = study_of_file(str(write_study(tmp_path, FILE)), made)
    assert study.lines["slow"] == {8: "slow 8", 40: "slow 40", None: "slow all"} and study.pairs == (("slow", "quick"),)
    again = run_study(study, made, keep_as="file")
    assert [test.comparison for test in again.statistics.tests.values()] == [
        test.comparison for test in result.statistics.tests.values()
    ]
    shown = layout(again, NOTHING_PUBLISHED)
    assert shown.headers == ("system\nby training rows", "made\n8", "made\n40", "made\nall")
    assert [line.cells[0] for line in shown.lines] == ["quick", "", "slow", ""]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('{limit-train = "{rows}"}', '{limit-train = "8,40"}'), "limit-train has one value for a system:"),
        (("training rows", "steps"), 'at: only the axis "training rows" has the place "all"'),
        (('"8,40,all"', '"8,few"'), "at: 'few' is not a number"),
    ],
)  # fmt: skip
def test_a_wrong_curve_in_a_file_is_refused(
    change: tuple[str, str], message: str, tmp_path: Path, finished: tuple[Result, Runner]
) -> None:
    with pytest.raises(RequestError, match=message):
        study_of_file(str(write_study(tmp_path, FILE.replace(*change))), finished[1])


def test_several_numbers_of_rows_are_a_curve_and_no_grid(tmp_path: Path) -> None:
    made = Runner(plugins(register_tasks=[mood()]), Workspace(tmp_path, tmp_path))
    options = StudyOptions(recipe={"limit_train": (8, 16, None), "lr": (1e-2, 2e-2)})
    study = options.study(["words"], [mood()], made)
    assert list(study.lines["words"]) == [8, 16, None]
    assert {tuple(cell.fitting.grid.choices) for cell in study.cells} == {("lr",)}
    one = StudyOptions(recipe={"limit_train": (8,)}).study(["words"], [mood()], made)
    assert not one.axis and one.cells[0].fitting.changes["limit_train"] == 8
    assert QUICK.limit_train is None


@pytest.mark.parametrize("seed", range(20))
def test_a_smaller_sample_is_part_of_a_larger_one(seed: int) -> None:
    """With the method of the largest remainder, 11 rows take one away from a label that has two of 10."""
    labels = [label for label, count in (("a", 6), ("b", 6), ("c", 2)) for _ in range(10 * count)]
    samples = [set(sample(labels, size, seed=seed)) for size in range(3, 141)]
    for smaller, larger in itertools.pairwise(samples):
        assert smaller < larger
