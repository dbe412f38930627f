"""Precisions: bf16 where a GPU computes bf16 itself, and a remark where the GPU emulates bf16."""

from pathlib import Path

import pytest
import torch

from benchrunner.methods.steps import outcome
from benchrunner.training.machine import bf16_gain, emulates_bf16, emulation_note, resolved_precision
from gpus import pretend
from tiny_fits import RECIPE, fitted

V100, T4, A100, H100 = (7, 0), (7, 5), (8, 0), (9, 0)


@pytest.mark.parametrize(
    ("capability", "precision"), [(V100, "fp32"), (T4, "fp32"), (A100, "bf16"), (H100, "bf16")], ids=str
)
def test_auto_needs_units_of_bf16(capability: tuple[int, int], precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [capability])
    assert resolved_precision("auto", "cuda") == precision
    assert resolved_precision("auto", "cpu") == "fp32"
    assert resolved_precision("bf16", "cuda") == "bf16", "what is asked for is done"


def test_auto_asks_the_gpu_that_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [T4, A100])
    assert [resolved_precision("auto", device) for device in ("cuda", "cuda:0", "cuda:1")] == ["fp32", "fp32", "bf16"]


def test_amd_gpus_compute_bf16_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [(6, 0)])
    monkeypatch.setattr(torch.version, "hip", "6.3")
    assert not emulates_bf16(torch.device("cuda"))


def test_the_gain_of_bf16_is_measured_where_units_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    units = {"_is_avx512_bf16_supported": False, "_is_amx_tile_supported": False}
    for name in units:
        monkeypatch.setattr(torch.cpu, name, lambda name=name: units[name], raising=False)
    assert bf16_gain(torch.device("cpu")) == 0
    units["_is_amx_tile_supported"] = True
    assert bf16_gain(torch.device("cpu")) > 0
    assert bf16_gain(torch.device("cuda")) == 0
    assert resolved_precision("auto", "cpu") == "fp32", "a result must not depend on the processor"


@pytest.mark.parametrize(
    ("precision", "seconds", "is_measured"), [("fp32", 10, True), ("fp32", 9, False), ("bf16", 10, False)]
)
def test_a_long_fit_in_fp32_keeps_the_gain_of_bf16(
    precision: str, seconds: float, is_measured: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchrunner.methods.steps.bf16_gain", lambda device: 1.7)
    training = fitted(tmp_path, RECIPE.changed(precision=precision, epochs=1)).training
    training.seconds = seconds
    assert outcome(training, 0.5, ()).timings.get("bf16_gain") == (1.7 if is_measured else None)


def test_a_fit_with_emulated_bf16_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [T4])
    remark = "The GPU Tesla T4 emulates bf16, which is slower than --set precision=fp32."
    assert emulation_note(torch.device("cuda")) == remark
    monkeypatch.setattr("benchrunner.training.loop.emulates_bf16", lambda device: True)
    said = list[str]()
    fit = fitted(tmp_path / "bf16", RECIPE.changed(precision="bf16", epochs=1), note=said.append)
    assert said == fit.training.notes == [remark]
    assert not fitted(tmp_path / "fp32", RECIPE.changed(epochs=1), note=said.append).training.notes
    assert said == [remark]
