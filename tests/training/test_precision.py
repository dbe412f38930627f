"""Precisions: bf16 where a GPU computes bf16 itself, and a remark where the GPU emulates bf16."""

from pathlib import Path

import pytest
import torch

from benchrunner.training.precision import computes_bf16, emulation_note, usual_precision
from gpus import pretend
from tiny_fits import RECIPE, fitted

V100, T4, A100, H100 = (7, 0), (7, 5), (8, 0), (9, 0)


@pytest.mark.parametrize(
    ("capability", "precision"), [(V100, "fp32"), (T4, "fp32"), (A100, "bf16"), (H100, "bf16")], ids=str
)
def test_auto_needs_units_of_bf16(capability: tuple[int, int], precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [capability])
    assert usual_precision("cuda") == precision


def test_auto_asks_the_gpu_that_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [T4, A100])
    assert [usual_precision(device) for device in ("cuda", "cuda:0", "cuda:1")] == ["fp32", "fp32", "bf16"]


def test_amd_gpus_compute_bf16_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [(6, 0)])
    monkeypatch.setattr(torch.version, "hip", "6.3")
    assert computes_bf16(torch.device("cuda"))


@pytest.mark.parametrize("unit", ["_is_avx512_bf16_supported", "_is_amx_tile_supported"])
def test_auto_is_bf16_on_a_processor_with_units_that_are_right(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    units = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    monkeypatch.setattr("benchrunner.training.precision._BF16_UNITS", units)
    for name in units:
        monkeypatch.setattr(torch.cpu, name, lambda: False, raising=False)
    assert usual_precision("cpu") == "fp32"
    monkeypatch.setattr(torch.cpu, unit, lambda: True, raising=False)
    assert usual_precision("cpu") == "bf16"
    monkeypatch.setattr(torch, "equal", lambda left, right: False)
    assert usual_precision("cpu") == "fp32", "a unit that computes something else is not used"


def test_a_fit_with_emulated_bf16_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [T4])
    remark = "The GPU Tesla T4 emulates bf16, which is slower than --set precision=fp32."
    assert emulation_note(torch.device("cuda")) == remark
    monkeypatch.setattr("benchrunner.training.loop.emulation_note", lambda device: remark)
    said = list[str]()
    fit = fitted(tmp_path / "bf16", RECIPE.changed(precision="bf16", epochs=1), note=said.append)
    assert said == fit.training.notes == [remark]
    assert not fitted(tmp_path / "fp32", RECIPE.changed(epochs=1), note=said.append).training.notes
    assert said == [remark]
