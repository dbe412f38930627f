"""Copies of weights in bf16 that a kernel writes: the same training as with casts in each step, to the last bit."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from benchrunner.fits.computing import Computing
from benchrunner.training.checkpoints import Checkpoint
from benchrunner.training.half_weights import HalfWeights
from benchrunner.training.loop import Training
from benchrunner_kit.testing import TinyEncoder
from tiny_fits import RECIPE, Killed, difference, features, fitted, killed_after

HALF = RECIPE.changed(precision="bf16")


@dataclass
class TorchsAdam:
    """A kernel of AdamW that torch computes; the types of the gradients are noted."""

    operators: tuple[str, ...] = ("adamw",)
    name: str = "of torch"
    notes: tuple[str, ...] = ()
    seen: list[torch.dtype] = field(default_factory=list)

    def attend(self, *_: Any) -> None:
        """Leave this to torch, as the two below."""

    add_and_norm = gelu = attend

    def norm(self, x: Tensor) -> Tensor:
        return torch.linalg.vector_norm(x.float())

    def adamw(
        self,
        weight: Tensor,
        gradient: Tensor,
        mean: Tensor,
        square: Tensor,
        copy: Tensor,
        *,
        step: int,
        divisor: float,
        **numbers: float,
    ) -> None:
        self.seen.append(gradient.dtype)
        torch._fused_adamw_(
            [weight],
            [gradient.float()],
            [mean],
            [square],
            [],
            [torch.tensor(float(step))],
            **numbers,  # type: ignore[arg-type]
            amsgrad=False,
            maximize=False,
            grad_scale=torch.tensor(divisor),
        )
        copy.copy_(weight)


@pytest.fixture(autouse=True)
def _casting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TinyEncoder, "autocasts_layers", True)


@pytest.mark.parametrize(
    "changes",
    [{}, {"clip": 0.0}, {"micro_tokens": 20}, {"bias_correction": False, "weight_decay": 0.1}, {"clip": 1e-3}],
    ids=str,
)
def test_a_training_has_the_bits_of_casts_in_each_step(changes: dict[str, Any], tmp_path: Path) -> None:
    recipe, kernels = HALF.changed(**changes), TorchsAdam()
    usual = fitted(tmp_path / "usual", recipe, dropout=0.1)
    halves = fitted(tmp_path / "halves", recipe, dropout=0.1, kernels=kernels)
    assert halves.losses == usual.losses and difference(usual, halves) == 0
    assert kernels.seen.count(torch.bfloat16) + kernels.seen.count(torch.float32) == 2 * 24  # weight and bias of qkv
    assert set(kernels.seen) == {torch.float32 if "micro_tokens" in changes else torch.bfloat16}


def test_a_killed_training_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    kernels: dict[str, Any] = {"kernels": TorchsAdam()}
    whole = fitted(tmp_path / "whole", HALF, **kernels)
    checkpoint = Checkpoint(tmp_path / "killed" / "checkpoint")
    with pytest.raises(Killed):
        fitted(
            tmp_path / "killed", HALF, checkpoint=checkpoint, checkpoint_seconds=0, report=killed_after(11), **kernels
        )
    again = fitted(tmp_path / "killed", HALF, checkpoint=checkpoint, **kernels)
    assert again.training.first > 0 and difference(whole, again) == 0


def halves_of(tmp_path: Path, recipe: Any = HALF, **options: Any) -> Any:
    """Return the copies that a training of the tiny encoder would make."""
    training = Training(
        model=lambda batch: torch.zeros(1),
        modules={"encoder": TinyEncoder()},
        features=features(4),
        problem=None,  # type: ignore[arg-type]
        recipe=recipe,
        seed=0,
        computing=Computing("cpu"),
        checkpoint=Checkpoint(tmp_path / "checkpoint"),
        log=tmp_path / "log",
        **options,
    )
    return training.halves


def test_only_bf16_with_a_kernel_and_no_team_has_copies(tmp_path: Path) -> None:
    kernels = TorchsAdam()
    assert halves_of(tmp_path, kernels=kernels) is not None
    assert halves_of(tmp_path) is None
    assert halves_of(tmp_path, kernels=TorchsAdam(operators=())) is None
    assert halves_of(tmp_path, RECIPE, kernels=kernels) is None
    assert halves_of(tmp_path, kernels=kernels, shared=True) is None


def test_layers_read_copies_inside_the_block_alone() -> None:
    encoder = TinyEncoder()
    halves = HalfWeights([encoder], TorchsAdam())
    weight = encoder.qkv.weight
    assert halves.copy_of(encoder.dense.weight) is None
    with halves.read():
        assert encoder.qkv.weight is halves.copy_of(weight) and encoder.qkv.weight.dtype == torch.bfloat16
    assert encoder.qkv.weight is weight


def test_weights_that_do_not_learn_have_no_copies() -> None:
    encoder = TinyEncoder().requires_grad_(False)
    halves = HalfWeights([encoder], TorchsAdam())
    with halves.read():
        assert encoder.qkv.weight.dtype == torch.float32
    assert halves.gradients(encoder.parameters()) == {}


def test_gradients_of_several_batches_are_added_in_fp32() -> None:
    """1 + 2^-9 has more digits than bf16 keeps."""
    encoder = TinyEncoder()
    halves = HalfWeights([encoder], TorchsAdam())
    weight, copy = encoder.qkv.weight, halves.copy_of(encoder.qkv.weight)
    assert copy is not None
    copy.grad = torch.ones_like(copy)
    assert halves.gradients([weight])[weight] is copy.grad
    halves.fold()
    assert copy.grad is None
    copy.grad = torch.full_like(copy, 2.0**-9)
    [total] = halves.gradients([weight]).values()
    assert total.dtype == torch.float32 and bool((total == 1 + 2.0**-9).all())
    halves.clear()
    assert copy.grad is None
