"""Intervals and tests of study files: those that plain answers give, one place at a time."""

import json

import pytest

from benchrunner import ACCURACY, Workspace
from benchrunner.fits.computing import Computing
from benchrunner.results import Result, Runner, discover, read_study
from benchrunner.runs.predicting import predict
from benchrunner.studies.comparison.json_values import as_json
from benchrunner_kit.testing import tiny_family
from benchrunner_statistics import paired_test
from benchrunner_statistics.corrections import directional
from benchrunner_statistics.example_intervals import example_interval
from benchrunner_tasks import MATTHEWS
from chancy import Chancy
from inline import METHODS, STATISTICS, STUDIES, mood, own
from kitchen import Kitchen
from made_results import cells

GUESSERS = """
title = "Who guesses best?"

[recipe]
restarts = "3"

[[system]]
name = "good"
backbone = "tiny/words"
recipe = {lr = "20"}

[[system]]
name = "as good"
backbone = "tiny/words"
recipe = {lr = "20"}

[[system]]
name = "bad"
backbone = "tiny/words"
recipe = {lr = "2"}

[[system]]
name = "together"
backbone = "tiny/words"
ensemble = true
recipe = {lr = "2"}

[[column]]
name = "right"
task = "mood"

[[column]]
name = "balance"
task = "mood"
metric = "matthews"
"""


@pytest.fixture
def guessers(kitchen: Kitchen) -> Kitchen:
    """Systems whose fits answer lr * (1 + seed) of 24 rows correctly."""
    offers = {"register_tasks": [mood(method="chancy")], "register_methods": [Chancy()]}
    kitchen.plugins = discover(
        extra=[METHODS, STATISTICS, STUDIES, ("own", own(**offers, register_backbones=[tiny_family()]))],
        installed=False,
    )
    (kitchen.folder / "study.toml").write_text(GUESSERS)
    return kitchen


def kept(kitchen: Kitchen, name: str) -> Result:
    folder = kitchen.folder
    places = Workspace(data=folder / "data", runs=folder / "fits", cache=folder / "cache")
    return read_study(name, Runner(kitchen.plugins, places, Computing(device="cpu")))


def test_statistics_are_those_of_plain_answers(guessers: Kitchen) -> None:
    printed = guessers.json("--study", "study.toml", "--quiet")
    result = kept(guessers, printed["kept_as"])
    task = guessers.plugins.tasks.find("mood")
    metrics = {"right": ACCURACY, "balance": MATTHEWS}

    def answers(system: str, column: str) -> list[list[str]]:
        cell = result.cell_at[system, column]
        assert cell.cell.task.name == task.name and cell.runner is not None
        return [predict(fit, "dev", cell.runner).answers for fit in cell.restarts]

    runner = result.runner
    assert runner is not None
    gold = task.problem.gold(runner.planner.rows(task, "dev").table)
    assert gold is not None
    tests = {}
    for cell in printed["figures"]:
        name, column = cell["system"], cell["column"]
        if name == "together":
            assert cell["interval_over_examples"] is None, "one answer of several fits has no restarts"
            continue
        interval = example_interval(metrics[column], gold, answers(name, column))
        assert cell["interval_over_examples"] == [100 * interval.low, 100 * interval.high]
        if name == "bad":
            tests[column] = paired_test(metrics[column], gold, answers(name, column), answers("good", column))
    assert [(test["system"], test["with"], test["column"]) for test in printed["comparisons"]] == [
        ("bad", "good", "right"),
        ("bad", "as good", "right"),
        ("bad", "good", "balance"),
        ("bad", "as good", "balance"),
    ], "the same fits are not compared with each other"
    of_pairs = directional({(f"bad {column}", f"good {column}"): test.p for column, test in tests.items()})
    adjusted = dict(zip(tests, of_pairs.values(), strict=True))
    for test in printed["comparisons"]:
        expected = tests[test["column"]]
        for name in ("difference", "p", "claim", "method", "rows"):
            assert test[name] == getattr(expected, name)
        assert (test["low"] > 0 or test["high"] < 0) == test["is_clear"], "the interval says what the mark says"
        assert (test["adjusted_p"], test["is_clear"]) == (adjusted[test["column"]], adjusted[test["column"]] < 0.05)
    assert json.loads(json.dumps(as_json(result)))["comparisons"] == printed["comparisons"]


def test_the_table_has_intervals_marks_and_conclusions(guessers: Kitchen) -> None:
    out = guessers.done("--study", "study.toml", "--quiet", "--notes")
    lines = [cells(line) for line in out.splitlines() if line[0] == "│"]
    places = {row[0]: number for number, row in enumerate(lines) if row[0]}
    bad = places["bad"]
    assert lines[bad][1] == "16.7 ± 8.3 (3) C2" and lines[places["good"]][2].endswith("(3) =")
    assert all(cell.startswith("[") and cell.endswith("]") for cell in lines[bad + 1][1:])
    assert lines[places["as good"]][1] == "94.4 ± 9.6 (3) ="
    assert "  =  tied for best (p < 0.05, corrected for 2 tests)" in out
    assert "  Tied for best on 2 of 2 columns, right, balance: good, as good.\n" in out
    assert "good 1.5 (1.0 to 2.0); as good 1.5 (1.0 to 2.0); clearly behind: bad." in out


def test_contrasts_name_the_family_of_tests(guessers: Kitchen) -> None:
    text = GUESSERS.replace("[recipe]", 'contrast = ["bad - as good"]\n\n[recipe]', 1)
    worst = '[[system]]\nname = "worst"\nbackbone = "tiny/words"\nrecipe = {lr = "1"}\n\n[[column]]'
    (guessers.folder / "study.toml").write_text(text.replace("[[column]]", worst, 1))
    printed = guessers.json("--study", "study.toml", "--quiet")
    tests = printed["comparisons"]
    assert [(test["system"], test["with"]) for test in tests] == [("bad", "as good")] * 2, "worst is not tested"
    smallest = min(tests, key=lambda test: test["p"])
    assert smallest["adjusted_p"] == pytest.approx(2 * smallest["p"]), "Holm's family is the two tests"
    assert printed["contrasts"] == [["bad", "as good"]]
    assert any("  *  differs from as good" in f"  {note}" for note in printed["notes"])
    assert printed["conclusion"].startswith("Of 2 columns, bad is worse than as good on 2 (balance -1")


def test_contrasts_that_are_not_run_leave_the_first_system(guessers: Kitchen) -> None:
    text = GUESSERS.replace("[recipe]", 'contrast = ["as good - bad"]\n\n[recipe]', 1)
    (guessers.folder / "study.toml").write_text(text)
    printed = guessers.json("--study", "study.toml", "--quiet", "--systems", "good,bad")
    assert [(test["system"], test["with"]) for test in printed["comparisons"]] == [("bad", "good")] * 2
    assert printed["contrasts"] == []


EQUIVALENT = """margin = 45
contrast = ["close - bad", "alike - good", "bad - good"]

[[system]]
name = "close"  # 2, 4 and 6 of 24 rows are right, as those of bad, and one more with seed 2
backbone = "tiny/words"
recipe = {lr = "2.2"}

[[system]]
name = "alike"  # as good in every answer
backbone = "tiny/words"
recipe = {lr = "20.01"}

[recipe]
"""


def test_a_margin_says_which_systems_are_equivalent(guessers: Kitchen) -> None:
    (guessers.folder / "study.toml").write_text(GUESSERS.replace("[recipe]\n", EQUIVALENT, 1))
    options = ("--study", "study.toml", "--quiet", "--columns", "right")
    printed = guessers.json(*options)
    said = printed["conclusion"]
    assert printed["margin"] == 45 and said in " ".join(printed["notes"])
    tests = {test["system"]: test for test in printed["comparisons"]}
    close = tests["close"]
    interval = f"{100 * close['low']:+.1f} to {100 * close['high']:+.1f}"
    assert " Equivalent within 45 points: " in said and f"close and bad on right (interval {interval})" in said
    assert " Not shown to be equivalent within 45 points: bad and good on right." in said
    assert [test["is_equivalent"] for test in tests.values()] == [True, True, False]
    printed = guessers.json(*options, "--margin", "1")
    assert "Not shown to be equivalent within 1 point: close and bad on right" in printed["conclusion"]
    printed = guessers.json(*options, "--restarts", "1", "--margin", "99")
    assert " Equivalent within 99 points: bad and good on right (" in printed["conclusion"]
    equal = "Equal in all answers, which shows nothing about other rows: "
    assert equal in printed["conclusion"]


def test_without_a_margin_nothing_is_said_of_equivalence(guessers: Kitchen) -> None:
    printed = guessers.json("--study", "study.toml", "--quiet", "--columns", "right")
    assert "equivalent" not in printed["conclusion"]
    assert (printed["margin"], printed["comparisons"][0]["is_equivalent"]) == (None, None)


@pytest.mark.parametrize("margin", ["0", "-1", "nan", "one"])
def test_a_margin_is_a_number_above_0(margin: str, kitchen: Kitchen, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        kitchen("--study", "study.toml", "--margin", margin)
    assert "--margin must be a number above 0, not " in capsys.readouterr().err
