"""Devices: names that mean none are refused, several workers share the GPUs, and nobody takes memory unasked."""

import argparse
import os
from typing import Any

import pytest
import torch

from benchrunner import RequestError
from benchrunner.command_line import options
from benchrunner.fits.computing import Computing
from benchrunner.runs.runner import make_current
from benchrunner.runs.workers import devices_of_workers
from gpus import pretend

A100 = (8, 0)


@pytest.mark.parametrize(("version", "reason"), [(None, "is built without CUDA"), ("12.4", "sees no GPU")])
def test_a_gpu_torch_cannot_use_is_told(version: str | None, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [])
    monkeypatch.setattr(torch.version, "cuda", version)
    with pytest.raises(RequestError, match=f"Device 'cuda:1' cannot be used: .*{reason}.*Give --device cpu"):
        Computing("cuda:1").resolved()


@pytest.mark.parametrize(
    ("count", "name", "reason"),
    [
        (1, "cuda:1", r"torch sees 1 GPU\(s\), cuda:0\."),
        (4, "cuda:4", r"torch sees 4 GPU\(s\), cuda:0 to cuda:3\."),
        (4, "cuda:x", "Invalid device string"),
        (4, "cuda:256", r"torch sees 4 GPU\(s\), cuda:0 to cuda:3\."),
        (4, "gpu", "torch knows no such device"),
    ],
)
def test_a_gpu_that_is_absent_is_refused(count: int, name: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [A100] * count)
    with pytest.raises(RequestError, match=f"Device '{name}' cannot be used: {reason}"):
        Computing(name).resolved()


def test_choosing_a_gpu_allocates_nothing_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [A100] * 2)
    monkeypatch.setattr(torch, "empty", lambda *sizes, **options: pytest.fail("a process that hands out work"))
    assert [Computing(name).resolved().device for name in ("auto", "cuda", "cuda:1")] == ["cuda", "cuda", "cuda:1"]


@pytest.mark.parametrize(
    ("count", "device", "devices"),
    [
        (4, "cuda", ["cuda:0", "cuda:1", "cuda:2"]),
        (2, "cuda", ["cuda:0", "cuda:1", "cuda:0"]),
        (1, "cuda", ["cuda"] * 3),
        (1, "cuda:0", ["cuda:0"] * 3),
        (4, "cuda:1", ["cuda:1"] * 3),
        (4, "cpu", ["cpu"] * 3),
    ],
)
def test_workers_take_the_gpus_in_turn(
    count: int, device: str, devices: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, [A100] * count)
    assert devices_of_workers(device, 3) == devices


def test_a_numbered_gpu_becomes_the_current_one(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = list[Any]()
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    for device in ("cpu", "cuda", "cuda:1"):
        make_current(device)
    assert chosen == [torch.device("cuda:1")]
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8", "a setting of the user's stays"


def test_matrix_products_on_a_gpu_get_a_fixed_working_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    make_current("cpu")
    assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ
    make_current("cuda")
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


@pytest.mark.parametrize("words", [[], ["--no-cuda-graphs"], ["--no-kernels"]], ids=" ".join)
def test_options_say_what_may_compute_steps(words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    options.add_computing(parser)
    computing = options.computing(parser.parse_args(words))
    assert (computing.cuda_graphs, computing.kernels) == ("--no-cuda-graphs" not in words, "--no-kernels" not in words)
