"""Encoders in processes of their own take turns; the same model twice ties."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

import pytest

from benchrunner import FitError, RequestError
from benchrunner.engine import Encoder
from benchrunner_kit.testing import TinyEncoder
from benchrunner_speed import bench, measuring
from benchrunner_speed.bench import Bench, Facts
from benchrunner_speed.intervals import Estimate
from benchrunner_speed.measuring import Measurement, measure
from benchrunner_speed.settings import SpeedSettings
from benchrunner_speed.worker import Load, Place, started

QUICK = SpeedSettings(lengths=(16, 200), batches=(1, 4), repeats=6, train_batch=4, train_length=16, threads=1)
PLACE = Place("cpu", "fp32", 1)


def tiny() -> Encoder:
    return TinyEncoder()


def broken(errors: list[Exception], encoder: list[Encoder]) -> Encoder:
    """Fail with one error after the other, and then return the encoder; both lists are those of the process."""
    if errors:
        raise errors.pop(0)
    return encoder[0]


class Here:
    """A worker in the test's process: another process imports torch, which takes longer than all passes."""

    def __init__(self, name: str, load: Load, place: Place) -> None:
        self._bench = Bench(load(), place.device, place.precision)

    def ask(self, what: str, *arguments: int) -> Any:
        return getattr(self._bench, what)(*arguments)


@pytest.fixture(scope="module")
def twice() -> Measurement:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "started", lambda *worker: contextlib.nullcontext(Here(*worker)))
        patch.setattr(bench, "LEAST_SECONDS", 0.02)
        return measure({"one": tiny, "two": tiny}, QUICK, "cpu")


def test_the_same_model_twice_has_the_same_facts(twice: Measurement) -> None:
    parameters = sum(weight.numel() for weight in tiny().parameters())
    assert twice.footprints[0].facts == twice.footprints[1].facts == Facts(parameters, 64)
    assert all(sentence.startswith(("16 tokens, ", "training: ")) for sentence in twice.verdicts)


def test_what_stands_beside_the_figures_is_complete(twice: Measurement) -> None:
    assert "1 thread of" in twice.machine.text and "fp32, torch " in twice.machine.text
    assert "one reads at most 64 tokens: nothing at 200 tokens" in twice.notes
    assert {timing.kind for timing in twice.timings} == {"predict", "train"}
    assert all(len(timing.seconds) == 6 and min(timing.seconds) > 0 for timing in twice.timings)
    for footprint in twice.footprints:
        assert footprint.training_bytes is not None and footprint.prediction_bytes > 100_000_000


def test_a_process_answers_and_its_errors_name_the_backbone() -> None:
    errors: list[Exception] = [RequestError("no such weights"), ValueError("no such weights")]
    with started("mine", partial(broken, errors, [tiny()]), PLACE) as worker:
        with pytest.raises(RequestError, match=r"^mine: no such weights$"):
            worker.ask("facts")
        with pytest.raises(FitError, match=r"^mine: ValueError: no such weights$"):
            worker.ask("facts")
        assert worker.ask("facts") == Bench(tiny(), "cpu", "fp32").facts()
        worker._process.kill()
        with pytest.raises(FitError, match=r"mine: the process that held it ended \(exit code -9\)"):
            worker.ask("facts")


class Clock:
    """A worker that answers at once, and notes who was asked for what."""

    def __init__(self, name: str, asked: list[tuple[str, str]], seconds: float) -> None:
        self.name, self.asked, self.seconds = name, asked, seconds

    def ask(self, what: str, batch: int = 0, length: int = 0, passes: int = 0) -> Any:
        self.asked.append((self.name, what))
        answers = {"facts": Facts(10, 64), "peak": 1000, "passes": 1}
        return answers.get(what, self.seconds * (batch + 3))

    def __enter__(self) -> Clock:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_systems_take_turns_and_the_fastest_batch_is_beside_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []
    seconds = {"a": 1.0, "b": 2.0}
    monkeypatch.setattr(measuring, "started", lambda name, load, place: Clock(name, asked, seconds[name]))
    settings = SpeedSettings(lengths=(16,), batches=(1, 2, 1000), repeats=6, training=False)
    measured = measure({"a": tiny, "b": tiny}, settings, "cpu")
    timed = [name for name, what in asked[-4 * 6 :]]
    assert timed == ["a", "a", "b", "b"] * 6
    assert [(timing.system, timing.batch) for timing in measured.timings] == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    fastest = measured.fastest("b", 16)
    assert fastest is not None and fastest.rate == Estimate(3.2, 3.2, 3.2)
    assert measured.verdicts == (
        "16 tokens, batch 1: a is 2.00 [2.00, 2.00] times as fast as b",
        "16 tokens, best batch: a is 2.00 [2.00, 2.00] times as fast as b",
    )
