"""If memory runs out, micro-batches are halved, and the batch of the recipe stays the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchrunner.errors import FitError
from benchrunner.features.flat_batch import FlatBatch
from tiny_fits import RECIPE, Killed, Model, difference, features, fitted, killed_after


def torchs_own(tokens: int) -> RuntimeError:
    return torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate for {tokens} tokens")


def the_allocators(tokens: int) -> RuntimeError:
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
        f"you tried to allocate {tokens} bytes. Error code 12 (Cannot allocate memory)"
    )


def room_for(limit: int, fault: Callable[[int], RuntimeError] = torchs_own) -> Callable[[Model], Model]:
    """Give a model wrapper that fails like a device with memory for `limit` tokens."""

    def wrap(model: Model) -> Model:
        def limited(batch: FlatBatch) -> torch.Tensor:
            if len(batch.tokens) > limit:
                raise fault(len(batch.tokens))
            return model(batch)

        return limited

    return wrap


@pytest.mark.parametrize("fault", [torchs_own, the_allocators])
def test_halving_a_too_large_batch_equals_asking_for_the_smaller(
    tmp_path: Path, fault: Callable[[int], RuntimeError]
) -> None:
    even = features(60, shortest=8, longest=8)  # 10 tokens each, 80 a batch
    halved = fitted(tmp_path / "halved", data=even, dropout=0.1, wrap=room_for(25, fault))
    assert halved.training.micro_tokens == 20
    assert halved.training.recipe.micro_tokens == 8192
    small = fitted(tmp_path / "small", RECIPE.changed(micro_tokens=20), data=even, dropout=0.1)
    assert difference(halved, small) == 0.0 and halved.losses == small.losses
    free = fitted(tmp_path / "free", data=even)
    tight = fitted(tmp_path / "tight", data=even, wrap=room_for(25, fault))
    assert tight.losses == pytest.approx(free.losses, abs=2e-6)


def test_running_out_of_memory_mid_batch_counts_nothing_twice(tmp_path: Path) -> None:
    calls = 0

    def fails_once(model: Model) -> Model:
        def limited(batch: FlatBatch) -> torch.Tensor:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise torchs_own(0)
            return model(batch)

        return limited

    ragged = features(60)
    fit = fitted(tmp_path / "halved", RECIPE.changed(micro_tokens=40), data=ragged, wrap=fails_once)
    assert fit.training.micro_tokens == 20
    assert fit.losses == pytest.approx(fitted(tmp_path / "free", data=ragged).losses, abs=2e-6)


def test_the_halved_budget_outlives_a_kill(tmp_path: Path) -> None:
    even = features(60, shortest=8, longest=8)
    options: dict[str, Any] = {"data": even, "dropout": 0.1, "wrap": room_for(25), "checkpoint_seconds": -1.0}
    unbroken = fitted(tmp_path / "unbroken", **options)
    with pytest.raises(Killed):
        fitted(tmp_path / "broken", report=killed_after(9), **options)
    resumed = fitted(tmp_path / "broken", **options)
    assert resumed.training.micro_tokens == 20
    assert difference(unbroken, resumed) == 0.0


def test_one_unit_that_does_not_fit_is_an_error_that_says_so(tmp_path: Path) -> None:
    data = features(60, shortest=8, longest=8)
    with pytest.raises(FitError, match="single unit of 10 tokens: use a shorter max_length"):
        fitted(tmp_path, data=data, wrap=room_for(9))


def test_other_errors_are_not_taken_for_a_lack_of_memory(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="shapes do not match"):
        fitted(tmp_path, wrap=room_for(9, lambda tokens: RuntimeError("shapes do not match")))
