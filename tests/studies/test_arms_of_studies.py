"""Systems of a study file as pre-trainings of arms: what is tested, shown and said."""

import statistics
from dataclasses import replace

import pytest

from benchrunner import Workspace
from benchrunner.fits.computing import Computing
from benchrunner.results import Result, Runner, discover, read_study
from benchrunner.runs.predicting import predict
from benchrunner_kit.testing import tiny_family
from benchrunner_statistics import arms_test
from chancy import Chancy
from inline import METHODS, STATISTICS, STUDIES, mood, own
from kitchen import Kitchen
from made_results import cells

HEAD = """title = "Which way to learn?"

[recipe]
restarts = "2"

[[column]]
name = "right"
task = "mood"

"""
RATES = {"long 1": 8, "long 2": 9, "long 3": 10, "short 1": 2, "short 2": 3, "short 3": 4}
"""Each system with its learning rate: its fits answer lr * (1 + seed) of 24 rows rightly."""


@pytest.fixture
def arms(kitchen: Kitchen) -> Kitchen:
    """Two arms of three pre-trainings each."""
    families = [tiny_family(f"tiny/{rate}") for rate in RATES.values()]
    offers = {"register_tasks": [mood(method="chancy")], "register_methods": [Chancy()]}
    kitchen.plugins = discover(
        extra=[METHODS, STATISTICS, STUDIES, ("own", own(**offers, register_backbones=families))], installed=False
    )
    text = HEAD
    for name, rate in RATES.items():
        arm = name.split()[0]
        text += f'[[system]]\nname = "{name}"\nbackbone = "tiny/{rate}"\narm = "{arm}"\nrecipe = {{lr = "{rate}"}}\n'
    (kitchen.folder / "study.toml").write_text(text)
    return kitchen


def kept(kitchen: Kitchen, name: str) -> Result:
    folder = kitchen.folder
    places = Workspace(data=folder / "data", runs=folder / "fits", cache=folder / "cache")
    return read_study(name, Runner(kitchen.plugins, places, Computing(device="cpu")))


OPTIONS = ("--study", "study.toml", "--quiet")


def test_arms_are_tested_in_place_of_systems(arms: Kitchen) -> None:
    printed = arms.json(*OPTIONS)
    result = kept(arms, printed["kept_as"])
    assert printed["arms"] == {"long": list(RATES)[:3], "short": list(RATES)[3:]}
    sides = []
    gold = None
    for arm, systems in result.study.arms.items():
        answers = []
        for system in systems:
            cell = result.cell_at[system, "right"]
            assert cell.runner is not None
            gold = cell.cell.task.problem.gold(cell.runner.planner.rows(cell.cell.task, "dev").table)
            answers.append([predict(fit, "dev", cell.runner).answers for fit in cell.restarts])
        sides.append(answers)
        figure = result.figures[arm, "right"]
        means = [result.figures[system, "right"].mean.value for system in systems]
        assert (figure.mean.value, figure.deviation) == pytest.approx((statistics.mean(means), statistics.stdev(means)))
    long, short = sides
    assert gold is not None
    expected = arms_test("accuracy", gold, short, long)
    (test,) = printed["comparisons"]
    assert (test["system"], test["with"], test["claim"], test["pre_trainings"]) == ("short", "long", "arms", [3, 3])
    values = [test[name] for name in ("difference", "p", "low", "high")]
    assert values == pytest.approx([expected.difference, expected.p, expected.low, expected.high])
    assert test["adjusted_p"] == test["p"] < 0.05, "one test is the whole family"
    assert printed["conclusion"].startswith("short is worse than long (right -37.5, 95 % interval -")
    assert "pre-training" not in printed["conclusion"]


def test_a_table_has_a_row_for_each_arm(arms: Kitchen) -> None:
    out = arms.done(*OPTIONS, "--notes")
    rows = [cells(line) for line in out.splitlines() if line[0] == "│"]
    names = [row[0] for row in rows if row[0]]
    assert names == [*RATES, "long", "short"]
    figures = {row[0]: row[1] for row in rows}
    assert (figures["long"], figures["short"]) == ("56.2 ± 6.2 (3)", "18.8 ± 6.2 (3) *")
    assert "  short: mean ± deviation of the pre-trainings short 1, short 2, short 3\n" in out
    assert "  *  differs from long (p < 0.05, corrected for 1 test)" in out
    csv = arms.done(*OPTIONS, "--format", "csv").splitlines()
    assert [line.split(",")[0] for line in csv] == ["system", *RATES, "long", "short"]


def test_a_single_pre_training_is_said_to_be_one(arms: Kitchen) -> None:
    printed = arms.json(*OPTIONS, "--systems", "long 1,short 1,short 2")
    (test,) = printed["comparisons"]
    assert (test["claim"], test["pre_trainings"], test["with"]) == ("backbones", [2, 1], "long")
    assert printed["conclusion"].endswith(
        " With one pre-training of long this is about that pre-training: others may reverse it."
    )


def test_contrasts_name_arms_and_systems(arms: Kitchen) -> None:
    study = arms.folder / "study.toml"
    study.write_text('contrast = ["long - short", "long 1 - short 1"]\n' + study.read_text())
    tests = arms.json(*OPTIONS)["comparisons"]
    of_pair = {(test["system"], test["with"]): test["pre_trainings"] for test in tests}
    assert of_pair == {("long", "short"): [3, 3], ("long 1", "short 1"): [1, 1]}
    smallest = min(tests, key=lambda test: test["p"])
    assert smallest["adjusted_p"] == pytest.approx(2 * smallest["p"]), "Holm's family is the two tests"
    tests = arms.json(*OPTIONS, "--systems", "long 1,short 1,short 2")["comparisons"]
    assert len(tests) == 2, "contrasts stay as long as an arm has a system"


def test_an_arm_without_the_figure_of_a_system_has_none(arms: Kitchen) -> None:
    result = kept(arms, arms.json(*OPTIONS)["kept_as"])
    fewer = replace(result, cells=tuple(cell for cell in result.cells if cell.cell.system != "short 2"))
    assert fewer.statistics.tests == {}
    assert fewer.figures["short", "right"].mean.reason == "there is no figure in short 2"
    assert fewer.figures["long", "right"].mean.value is not None


def test_arms_of_several_methods_are_arms_of_their_own(arms: Kitchen) -> None:
    study = arms.folder / "study.toml"
    study.write_text(study.read_text().replace('arm = "', 'method = ["chancy", "majority"]\narm = "'))
    printed = arms.json(*OPTIONS)
    names = ["long (chancy)", "long (majority)", "short (chancy)", "short (majority)"]
    assert list(printed["arms"]) == names
    assert printed["arms"]["short (chancy)"] == ["short 1 (chancy)", "short 2 (chancy)", "short 3 (chancy)"]
