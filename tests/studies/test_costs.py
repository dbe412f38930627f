"""Costs that a plugin measures: beside the scores in every format, kept with the study, and shown again."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from benchrunner import RequestError
from benchrunner.errors import PluginError
from benchrunner.fits.cost import Cost, prefixed
from benchrunner.results import Result, Runner, compared, comparison, read_study, run_study
from benchrunner.studies.cells import Fitting
from benchrunner.studies.comparison.facts import cost_notes
from benchrunner.studies.comparison.layout import cost_rows
from benchrunner.studies.kept.kept_study import find_study
from benchrunner_kit.testing import tiny_family
from inline import QUICK, runner

NAMES = ("words", "other words", "third words")


class Meter:
    """A hook that gives every system a speed, faster each time it is asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, int]] = []

    def __call__(self, fits: Any, records: Any, workspace: Any, computing: Any) -> list[Cost]:
        self.asked.append({system: len(of_system) for system, of_system in fits.items()})
        assert computing.device == "cpu" and all(fit.id in records for listed in fits.values() for fit in listed)
        speed = 1234.5 * len(self.asked)
        return [Cost(system, "speed", "tokens/s", speed, 1000.0, 2000.0, "measured") for system in fits]


def measure(folder: Path, count: int, **hooks: Any) -> tuple[Result, Runner]:
    made = runner(folder, register_backbones=[tiny_family(name) for name in NAMES], **hooks)
    return run(made, count, with_costs=True), made


def run(made: Runner, count: int, **options: Any) -> Result:
    tasks = (made.plugins.tasks.find("mood"),)
    study = compared(NAMES[:count], tasks, Fitting(seeds=(0, 1), changes={"epochs": 1, "batch_size": QUICK.batch_size}))
    return run_study(study, made, keep_as="mine", **options)


def meter_hook(meter: Meter) -> Any:
    def measure_costs(fits: Any, records: Any, workspace: Any, computing: Any) -> list[Cost]:
        return meter(fits, records, workspace, computing)

    return measure_costs


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.00"), (0.00421, "0.00421"), (0.74, "0.740"), (999.4, "999"), (999.6, "1.00 k"), (4.386e6, "4.39 M")],
)
def test_numbers_have_three_digits_and_a_prefix(value: float, text: str) -> None:
    assert prefixed(value) == text


def test_costs_stand_in_every_format(tmp_path: Path) -> None:
    result, _ = measure(tmp_path, 2, measure_costs=meter_hook(Meter()))
    for form in ("markdown", "latex"):
        text = comparison.as_text(form, result)
        assert "1.23 k" in text and "tokens/s" in text and "speed: measured" in text
    lines = list(csv.DictReader(io.StringIO(comparison.as_text("csv", result, long=True))))
    shown = {line["system"]: line for line in lines if line["column"] == "speed"}
    assert list(shown) == list(NAMES[:2])
    assert [shown["words"][name] for name in ("score", "low", "high", "unit")] == [
        "1234.5",
        "1000.0",
        "2000.0",
        "tokens/s",
    ]
    assert all(line["unit"] == "" for line in lines if line["column"] != "speed")
    assert comparison.as_json(result)["costs"][0]["value"] == 1234.5


@pytest.mark.parametrize("count", [2, 3])
def test_costs_are_the_last_columns_of_the_table(tmp_path: Path, count: int) -> None:
    result, _ = measure(tmp_path, count, measure_costs=meter_hook(Meter()))
    shown = comparison.layout(result, comparison.NOTHING_PUBLISHED)
    assert shown.headers[-1] == "speed\ntokens/s"
    texts = " ".join(cell for line in shown.lines for cell in line.cells)
    assert texts.count("1.23 k") == count and "[1.00 k, 2.00 k]" in texts


def test_a_study_keeps_its_costs_until_they_are_measured_again(tmp_path: Path) -> None:
    meter = Meter()
    result, made = measure(tmp_path, 2, measure_costs=meter_hook(meter))
    assert meter.asked == [{"words": 2, "other words": 2}]
    assert read_study("mine", made).costs == result.costs == run(made, 2).costs
    assert find_study(made.workspace.runs, "mine").costs == result.costs and len(meter.asked) == 1
    assert run(made, 2, with_costs=True).costs[0].value == 2469
    assert read_study("mine", made).costs[0].value == 2469


def test_costs_without_a_plugin_are_refused_before_any_fit(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="the plugin 'speed' does"):
        measure(tmp_path, 1)
    assert not list((tmp_path / "runs").glob("*/record.json"))


def test_a_study_is_complete_although_its_meter_fails(tmp_path: Path) -> None:
    def measure_costs(fits: Any) -> list[Cost]:
        raise ValueError("no clock")

    with pytest.raises(PluginError, match="Measuring costs failed: ValueError: no clock"):
        measure(tmp_path, 1, measure_costs=measure_costs)
    assert find_study(tmp_path / "runs", "mine").ended is not None


def test_a_system_without_a_cost_has_a_dash(tmp_path: Path) -> None:
    def measure_costs(fits: Any) -> list[Cost]:
        first, *_ = fits
        return [Cost(first, "speed", "tokens/s", 5.0)]

    result, _ = measure(tmp_path, 2, measure_costs=measure_costs)
    [row] = cost_rows(result)
    assert [mean for mean, _, _ in row.texts.values()] == ["5.00", "-"]
    assert list(cost_notes(result)) == []
