"""The learning rate of each pre-training step."""

from __future__ import annotations

from fractions import Fraction

import pytest

from benchrunner_bert.pretraining.settings import Settings


def released_lr(step: int, steps: int, warmup: int) -> float:
    """Compute the released code's rate exactly: decay from step 0, replaced by the rise during warm-up."""
    peak = Fraction(1, 10_000)
    return float(peak * (Fraction(step, warmup) if step < warmup else 1 - Fraction(step, steps)))


def test_every_rate_is_the_released_codes() -> None:
    settings = Settings(steps=2000, warmup=150)
    expected = [released_lr(step, 2000, 150) for step in range(2000)]
    assert [settings.lr_at(step) for step in range(2000)] == pytest.approx(expected, rel=1e-14, abs=0)


def test_rates_of_the_papers_run() -> None:
    settings = Settings()
    steps = [0, 1, 5_000, 9_999, 10_000, 10_001, 500_000, 999_999]
    expected = [released_lr(step, 1_000_000, 10_000) for step in steps]
    assert [settings.lr_at(step) for step in steps] == pytest.approx(expected, rel=1e-14, abs=0)
    assert settings.lr_at(10_000) == pytest.approx(0.99e-4), "the decay runs from step 0"


def test_warm_up_is_at_most_all_steps() -> None:
    settings = Settings(steps=4, warmup=10_000)
    assert [settings.lr_at(step) for step in range(4)] == pytest.approx([0, 0.25e-4, 0.5e-4, 0.75e-4])
    flat = Settings(steps=4, warmup=0)
    assert [flat.lr_at(step) for step in range(4)] == pytest.approx([1e-4, 0.75e-4, 0.5e-4, 0.25e-4])
