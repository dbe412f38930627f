"""Kernels that a plugin offers: which operators they are asked for, with what, and what a record says of them."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchrunner.command_line.main import main
from benchrunner.features.randomness import Dropout
from benchrunner.fits.computing import Computing
from benchrunner.results import Runner
from benchrunner.runs.predicting import predict
from benchrunner_checkpoints.attention.attention import attend
from flat_batches import batch_of, drawn
from inline import QUICK, mood, plugins, runner


@dataclass
class Recorded:
    """Kernels that compute nothing: they note what they are asked for, and give what they are told to give."""

    gives: Any = None
    name: str = "recorded 1.0"
    operators: tuple[str, ...] = ("attend", "add_and_norm")
    notes: tuple[str, ...] = ()
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def attend(self, qkv: Tensor, starts: Tensor, sides: tuple[int, int], rate: float, seed: int) -> Tensor | None:
        self.asked.append(("attend", starts.tolist(), sides, rate, seed))
        return None if self.gives is None else torch.full_like(qkv[:, 0], self.gives)

    def add_and_norm(self, x: Tensor, residual: Tensor, norm: nn.LayerNorm, rate: float, seed: int) -> Tensor | None:
        self.asked.append(("add_and_norm", rate, seed))
        return None if self.gives is None else torch.full_like(x, self.gives)

    def gelu(self, x: Tensor) -> Tensor | None:
        self.asked.append(("gelu",))
        return None if self.gives is None else torch.full_like(x, self.gives)


def test_attention_is_computed_by_the_kernel() -> None:
    kernels, dropout = Recorded(7.0), Dropout(1, 2)
    batch = replace(batch_of((2, 5), dropout), kernels=kernels)
    qkv = drawn(batch, 2, 4, torch.float32)
    output = attend(qkv, batch, rate=0.1, site="layer 3", direction="left-to-right", window=2)
    assert output.shape == (7, 8) and bool((output == 7).all())
    assert kernels.asked == [("attend", [0, 2, 7], (2, 0), 0.1, dropout.seed("layer 3"))]


def test_a_kernel_draws_no_mask_outside_of_training() -> None:
    kernels = Recorded(7.0)
    batch = replace(batch_of((2, 5)), kernels=kernels)
    x = torch.zeros(7, 8)
    attend(drawn(batch, 2, 4, torch.float32), batch, rate=0.1, site="a")
    batch.add_and_norm(x, x, nn.LayerNorm(8), 0.1, "b")
    assert kernels.asked == [("attend", [0, 2, 7], (-1, -1), 0.0, 0), ("add_and_norm", 0.0, 0)]


def test_each_site_of_each_step_has_a_seed_of_its_own() -> None:
    seeds = set()
    for step in (0, 1):
        kernels = Recorded(1.0)
        batch = replace(batch_of((2,), Dropout(0, step)), kernels=kernels)
        for site in ("a", "b", "a"):
            batch.add_and_norm(torch.zeros(2, 4), torch.zeros(2, 4), nn.LayerNorm(4), 0.5, site)
        drawn_seeds = [seed for _, _, seed in kernels.asked]
        assert drawn_seeds[0] == drawn_seeds[2]
        seeds.update(drawn_seeds)
    assert len(seeds) == 4


def test_torch_computes_what_a_kernel_leaves_to_it() -> None:
    plain = batch_of((2, 5), Dropout(1, 2))
    offered = replace(plain, kernels=Recorded(None))
    x, residual, norm = torch.randn(7, 8), torch.randn(7, 8), nn.LayerNorm(8)
    qkv = drawn(plain, 2, 4, torch.float32)
    expected = norm(residual + plain.dropout(x, 0.3, "b"))
    for batch in (plain, offered):
        assert torch.equal(batch.gelu(x), functional.gelu(x))
        assert torch.equal(batch.add_and_norm(x, residual, norm, 0.3, "b"), expected)
        assert torch.equal(attend(qkv, batch, rate=0.3, site="a"), attend(qkv, plain, rate=0.3, site="a"))


def test_gelu_is_computed_by_the_kernel() -> None:
    kernels = Recorded(7.0)
    batch = replace(batch_of((2, 5)), kernels=kernels)
    assert bool((batch.gelu(torch.zeros(7, 8)) == 7).all()) and kernels.asked == [("gelu",)]


@pytest.mark.parametrize(("device", "given"), [("cpu", True), ("meta", False)])
def test_batches_on_other_devices_have_no_kernels(device: str, given: bool) -> None:
    batch = batch_of((2, 5), device=device, kernels=Recorded())
    assert (batch.kernels is not None) == given


def fitted(folder: Path, kernels: Recorded, computing: Computing) -> tuple[Runner, Any]:
    """Fit a tiny encoder where a plugin offers kernels."""
    made = runner(folder, offer_kernels=lambda: kernels)
    made = Runner(made.plugins, made.workspace, computing)
    fit = made.planner.plan(mood(), "words", recipe=QUICK.changed(epochs=1))
    made.run(fit)
    return made, fit


def test_fits_and_predictions_are_given_the_kernels(tmp_path: Path) -> None:
    kernels = Recorded(notes=("The kernel 'mend' fails its test.",))
    made, fit = fitted(tmp_path, kernels, Computing("cpu"))
    trained = len(kernels.asked)
    record = made.folder(fit).finished_record()
    assert record is not None and trained > 0
    assert record.numerics["kernels"] == "recorded 1.0 (attend, add_and_norm)"
    assert record.numerics["attention"] == {"train": "compiled", "predict": "compiled"}
    assert record.notes[-1:] == ("The kernel 'mend' fails its test.",)
    predict(fit, "dev", made)
    assert {seed for *_, seed in kernels.asked[trained:]} == {0}


def test_kernels_can_be_switched_off(tmp_path: Path) -> None:
    kernels = Recorded()
    made, fit = fitted(tmp_path, kernels, Computing("cpu", kernels=False))
    record = made.folder(fit).finished_record()
    assert record is not None and record.status == "done"
    assert kernels.asked == [] and record.numerics["kernels"] == "torch"


def test_kernels_that_fail_to_load_are_set_aside(tmp_path: Path) -> None:
    def broken() -> Any:
        raise OSError("no such file: kernels.so")

    offered = plugins(offer_kernels=broken)
    assert offered.kernels is None
    [part] = offered.set_aside
    assert part.plugin == "own" and part.reason.startswith("offer_kernels: OSError: no such file: kernels.so")


def test_doctor_says_which_kernels_compute(capsys: pytest.CaptureFixture[str]) -> None:
    kernels = Recorded(operators=("attend",), notes=("The kernel 'add_and_norm' fails its test.",))
    assert main(["doctor"], plugins=plugins(offer_kernels=lambda: kernels)) == 0
    said = capsys.readouterr().out
    assert "kernels: recorded 1.0 (attend)\n" in said
    assert "The kernel 'add_and_norm' fails its test.\n" in said


def test_no_kernels_is_an_option_of_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = Recorded()
    made = runner(tmp_path, offer_kernels=lambda: kernels)
    monkeypatch.chdir(tmp_path)
    words = ["run", "mine/mood", "--backbone", "words", "--data", "data", "--epochs", "1", "--device", "cpu", "--quiet"]
    assert main([*words, "--no-kernels"], plugins=made.plugins) == 0
    assert kernels.asked == []
