"""Costs of a study: what its records say of fits, when they may be compared, and why a figure is absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchrunner import Recipe, Settings, Workspace
from benchrunner.results import Computing, Fit, Record
from benchrunner_speed import study_costs
from benchrunner_speed.bench import Facts
from benchrunner_speed.machine import Machine
from benchrunner_speed.measuring import Footprint, Measurement, Timing
from benchrunner_speed.settings import SpeedSettings
from benchrunner_speed.study_costs import SystemFits, costs_of_study

FOOTPRINT = Footprint("a", Facts(50, 512), 1000, 2000)
MACHINE = Machine("Some processor", "cpu", "x86_64", "fp32", 1, 2, "AVX2", {"torch": "2"}, load=0.0)
NUMERICS = {"device": "cpu", "device_name": "x86_64", "threads": 1, "precision": "fp32", "capability": "AVX2"}
PLACE = Workspace(Path("runs"), Path("cache")), Computing("cpu")


def fit(backbone: str, seed: int = 0) -> Fit:
    return Fit("mine/mood", backbone, "finetune", Recipe(), seed, "data", {}, f"revision of {backbone}", {})


def record(of: Fit, seconds: float = 3.0, **numerics: Any) -> Record:
    return Record(of.id, "done", timings={"train_seconds": seconds}, numerics=NUMERICS | numerics)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Replace the measurement; return the lists of backbones that it was asked for."""
    calls: list[list[str]] = []

    def measured(loads: Any, settings: SpeedSettings, device: str, **options: Any) -> Measurement:
        calls.append(list(loads))
        options["note"]("round 1 of 9")
        footprints = tuple(Footprint(name, FOOTPRINT.facts, 1000, 2000) for name in loads)
        timings = tuple(Timing(name, "predict", 128, 8, tuple(range(1, 10))) for name in loads)
        return Measurement(MACHINE, settings, footprints, timings)

    monkeypatch.setattr(study_costs, "measure", measured)
    return calls


def costs(fits: dict[str, list[Fit]], records: list[Record]) -> dict[tuple[str, str, str], Any]:
    found = costs_of_study(fits, {one.id: one for one in records}, *PLACE)
    return {(cost.system, cost.quantity, cost.unit): cost for cost in found}


def test_each_backbone_is_measured_once(asked: list[list[str]]) -> None:
    first, second = fit("a"), fit("a", seed=1)
    found = costs({"a (lora)": [first], "a (finetune)": [second]}, [record(first), record(second, 5.0)])
    assert asked == [["a"]]
    assert found["a (lora)", "parameters", ""].value == found["a (finetune)", "parameters", ""].value == 50
    speed = found["a (lora)", "speed", "tokens/s"]
    assert (speed.value, speed.low, speed.high) == (8 * 128 / 5, 8 * 128 / 8, 8 * 128 / 2)
    assert found["a (finetune)", "training memory", "B"].value == 2000


@pytest.mark.parametrize(("show", "said"), [(True, "cost: round 1 of 9\n"), (False, "")])
def test_progress_is_shown_where_it_is_asked_for(
    show: bool, said: str, asked: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    of_a = fit("a")
    costs_of_study({"a": [of_a]}, {of_a.id: record(of_a)}, *PLACE, show_progress=show)
    assert capsys.readouterr().err == said


def test_seconds_are_means_with_their_range(asked: list[list[str]]) -> None:
    fits = [fit("a"), fit("a", seed=1)]
    found = costs({"a": fits}, [record(fits[0], 2.0), record(fits[1], 4.0)])
    seconds = found["a", "training time", "s/fit"]
    assert (seconds.value, seconds.low, seconds.high) == (3.0, 2.0, 4.0)


@pytest.mark.parametrize(
    ("numerics", "said"),
    [({"threads": 2}, "threads 1, 2"), ({}, ""), ({"capability": "AVX512"}, "capability AVX2, AVX512")],
)
def test_fits_that_were_computed_differently_are_told(asked: list[list[str]], numerics: Any, said: str) -> None:
    fits = [fit("a"), fit("a", seed=1)]
    found = costs({"a": fits}, [record(fits[0]), record(fits[1], **numerics)])
    note = found["a", "training time", "s/fit"].note
    assert (f"do not compare its seconds ({said})" in note) if said else ("compare" not in note)


def test_fits_of_another_machine_are_told() -> None:
    own = fit("a")
    fits = SystemFits("a", [own], {own.id: record(own, device="cuda")})
    assert fits.differences(MACHINE) == "device cuda, where the encoder was measured with cpu"


def test_a_system_without_an_encoder_has_reasons(asked: list[list[str]]) -> None:
    own = fit("")
    found = costs({"majority": [own]}, [])
    assert asked == []
    assert found["majority", "parameters", ""].note == "majority has no encoder"
    assert found["majority", "training time", "s/fit"].note == "majority: no fit finished"


def test_no_encoder_is_measured_where_code_is_trusted(asked: list[list[str]], tmp_path: Path) -> None:
    own, place = fit("a"), Workspace(Path("runs"), Path("cache"), settings=Settings(trusted_code=(str(tmp_path),)))
    found = costs_of_study({"a": [own]}, {own.id: record(own)}, place, Computing("cpu"))
    assert asked == []
    assert [(cost.quantity, cost.value) for cost in found] == [("parameters", None), ("training time", 3.0)]
    assert found[0].note.startswith("a is not measured: trusted code")
