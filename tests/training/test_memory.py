"""If memory runs out, micro-batches are halved, and the batch of the recipe stays the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from benchrunner.errors import FitError
from benchrunner.features.flat_batch import FlatBatch
from benchrunner.methods.heads import LinearHead
from benchrunner.problems.problem import HeadShape
from benchrunner.training import numerics, optimizer
from benchrunner.training.inference import Inference, Level
from benchrunner.training.memory import computed_in_parts
from benchrunner_kit.testing import TinyEncoder
from tiny_fits import CPU, RECIPE, Killed, Model, difference, features, fitted, killed_after


def torchs_own(tokens: int) -> RuntimeError:
    return torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate for {tokens} tokens")


def the_allocators(tokens: int) -> RuntimeError:
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
        f"you tried to allocate {tokens} bytes. Error code 12 (Cannot allocate memory)"
    )


def the_drivers(tokens: int) -> RuntimeError:
    return RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported")


def the_matrix_librarys(tokens: int) -> RuntimeError:
    return RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")


def the_network_librarys(tokens: int) -> RuntimeError:
    return RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED")


def the_hosts(tokens: int) -> MemoryError:
    return MemoryError("Unable to allocate 80.0 GiB for an array")


FAULTS = (torchs_own, the_allocators, the_drivers, the_matrix_librarys, the_network_librarys, the_hosts)
Fault = Callable[[int], Exception]


def room_for(limit: int, fault: Fault = torchs_own) -> Callable[[Model], Model]:
    """Give a model wrapper that fails like a device with memory for `limit` tokens."""

    def wrap(model: Model) -> Model:
        def limited(batch: FlatBatch) -> torch.Tensor:
            if len(batch.tokens) > limit:
                raise fault(len(batch.tokens))
            return model(batch)

        return limited

    return wrap


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_of_too_little_memory_halves_the_batch(tmp_path: Path, fault: Fault) -> None:
    even = features(8, shortest=8, longest=8)  # 10 tokens each
    assert fitted(tmp_path, data=even, wrap=room_for(25, fault)).training.micro_tokens == 20


def test_halving_a_too_large_batch_equals_asking_for_the_smaller(tmp_path: Path) -> None:
    even = features(24, shortest=8, longest=8)  # 10 tokens each, 80 a batch
    halved = fitted(tmp_path / "halved", data=even, dropout=0.1, wrap=room_for(25))
    assert halved.training.micro_tokens == 20
    assert halved.training.recipe.micro_tokens == 8192
    small = fitted(tmp_path / "small", RECIPE.changed(micro_tokens=20), data=even, dropout=0.1)
    assert difference(halved, small) == 0.0 and halved.losses == small.losses
    free = fitted(tmp_path / "free", data=even)
    tight = fitted(tmp_path / "tight", data=even, wrap=room_for(25))
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
    options: dict[str, Any] = {"data": even, "dropout": 0.1, "wrap": room_for(25), "checkpoint_seconds": 0}
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


def test_moments_without_room_halve_the_batch_before_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[str]()
    zeros = optimizer._Moments.zeros

    def limited(weight: nn.Parameter) -> optimizer._Moments:
        calls.append("moments")
        if len(calls) == 3:
            raise the_drivers(0)
        return zeros(weight)

    monkeypatch.setattr(optimizer._Moments, "zeros", limited)
    even = features(60, shortest=8, longest=8)
    fit = fitted(tmp_path / "halved", RECIPE.changed(micro_tokens=40), data=even, dropout=0.1)
    assert fit.training.budgets == {0: 20}
    monkeypatch.undo()
    small = fitted(tmp_path / "small", RECIPE.changed(micro_tokens=20), data=even, dropout=0.1)
    assert difference(fit, small) == 0.0 and fit.losses == small.losses


def shrinking(step: int) -> Callable[[Model], Model]:
    """Give a model wrapper that has memory for 25 tokens only from a step on."""

    def wrap(model: Model) -> Model:
        def limited(batch: FlatBatch) -> torch.Tensor:
            if batch.dropping and int(str(batch.dropout._step[0])) >= step and len(batch.tokens) > 25:
                raise torchs_own(len(batch.tokens))
            return model(batch)

        return limited

    return wrap


def test_the_record_says_from_which_step_on_batches_were_halved(tmp_path: Path) -> None:
    """Dropout is drawn for each micro-batch, so that other steps with other budgets are other numerics."""
    even, recipe = features(60, shortest=8, longest=8), RECIPE.changed(micro_tokens=40)
    options: dict[str, Any] = {"data": even, "dropout": 0.1, "checkpoint_seconds": 0}
    unbroken = fitted(tmp_path / "unbroken", recipe, wrap=shrinking(5), **options)
    assert numerics.of(unbroken.training)["micro_tokens"] == [[0, 40], [5, 20]]
    assert numerics.of(unbroken.training)["micro_tokens_asked"] == 40
    with pytest.raises(Killed):
        fitted(tmp_path / "broken", recipe, wrap=shrinking(5), report=killed_after(9), **options)
    resumed = fitted(tmp_path / "broken", recipe, wrap=shrinking(5), **options)
    assert resumed.training.first > 5 and resumed.training.budgets == {0: 40, 5: 20}
    assert difference(unbroken, resumed) == 0.0
    free = fitted(tmp_path / "free", recipe, **options)
    assert numerics.of(free.training)["micro_tokens"] == 40 and difference(free, unbroken) > 0.0


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("level", ["sequence", "token"])
def test_predictions_take_smaller_batches_where_memory_runs_out(level: Level, fault: Fault) -> None:
    data, encoder = features(40), TinyEncoder()
    head = LinearHead(12, HeadShape(level, 3), seed=1)

    def outputs(wrap: Callable[[Model], Model]) -> np.ndarray:
        model = wrap(lambda batch: head(encoder, batch))
        return Inference(CPU, "fp32", 100).predict(model, data, level)

    np.testing.assert_allclose(outputs(room_for(30, fault)), outputs(lambda model: model), atol=1e-5)
    with pytest.raises(FitError, match="with a single unit of 16 tokens"):
        outputs(room_for(15, fault))


def test_parts_that_fitted_are_not_computed_again() -> None:
    tokens, asked = np.full(8, 10), list[int]()

    def compute(units: np.ndarray) -> int:
        asked.append(len(units))
        if len(asked) == 2:
            raise torchs_own(0)
        return len(units)

    results = list(computed_in_parts(compute, tokens, 40, CPU))
    assert [units.tolist() for units, _ in results] == [[0, 1, 2, 3], [4, 5], [6, 7]]
    assert asked == [4, 4, 2, 2] and [result for _, result in results] == [4, 2, 2]
