"""The command `speed`: refusals before anything is measured, and its tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import benchrunner_speed
from benchrunner.command_line.main import main
from benchrunner.results import discover
from benchrunner_kit.testing import tiny_family
from benchrunner_speed import measuring
from benchrunner_speed.bench import Facts
from benchrunner_speed.machine import Machine
from benchrunner_speed.measuring import Footprint, Measurement, Timing
from inline import plugin

MACHINE = Machine("Some processor", "cpu", "x86_64", "fp32", 1, 2, "AVX2", {"torch": "2"}, load=3.0)


def speed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    plugins = discover(
        extra=[("own", plugin(register_backbones=[tiny_family("words")])), ("speed", benchrunner_speed)],
        installed=False,
    )
    try:
        code = main(["speed", *words], plugins=plugins)
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    written = capsys.readouterr()
    return code, written.out, written.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("word",), "Did you mean words?"),
        (("words", "--repeats", "3"), "--repeats must be a whole number from 6 up, not 3"),
        (("words", "--lengths", "32,x"), "--lengths must be a whole number from 3 to 100,000, not 'x'"),
        (("words", "--precision", "fp16"), "--precision must be one of fp32, bf16, auto, not 'fp16'"),
        (("words", "--device", "tpu"), "Device 'tpu' cannot be used"),
        ((), "the following arguments are required: B"),
    ],
)
def test_wrong_words_are_refused(words: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = speed(capsys, *words)
    assert code == 2 and reason in error


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Replace the measurement by figures that were made up."""

    def measured(loads: Any, settings: Any, device: str, **options: Any) -> Measurement:
        footprints, timings = [], []
        for name in loads:
            footprints.append(Footprint(name, Facts(1_500_000, 64), 320_000_000, None))
            if min(settings.lengths) <= 64:
                timings.append(Timing(name, "predict", 32, 4, (0.0123,) * 9))
        return Measurement(MACHINE, settings, tuple(footprints), tuple(timings), (MACHINE.busy_note,), ("they tie",))

    monkeypatch.setattr(measuring, "measure", measured)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("fake")
def test_a_backbone_named_twice_is_measured_twice(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown, _ = speed(capsys, "words", "words")
    assert code == 0
    rows = [" ".join(line.replace("│", " ").split()) for line in shown.splitlines()]
    assert "words 1.50 M 320 M -" in rows
    assert "words (2) 32 4 12.3 [12.3, 12.3] 10.4 k [10.4 k, 10.4 k]" in rows
    assert "they tie" in rows and any("the machine was busy" in row for row in rows)


@pytest.mark.usefixtures("fake")
def test_json_has_the_seconds_of_every_round(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown, _ = speed(capsys, "words", "--json", "--threads", "1")
    values = json.loads(shown)
    assert code == 0 and values["timings"][0]["seconds"] == [0.0123] * 9
    assert values["machine"]["precision"] == "fp32" and values["settings"]["threads"] == 1
    assert values["timings"][0]["tokens_per_second"]["low"] == pytest.approx(32 * 4 / 0.0123)


@pytest.mark.usefixtures("fake")
def test_lengths_that_nobody_reads_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = speed(capsys, "words", "--lengths", "128")
    assert code == 2 and "they read 64 at most" in error
