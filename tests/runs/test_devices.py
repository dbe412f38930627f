"""Devices: names that mean none are refused, several workers share the GPUs, and nobody takes memory unasked."""

import argparse
import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from benchrunner import RequestError
from benchrunner.command_line import options
from benchrunner.command_line.main import main
from benchrunner.fits.computing import Computing
from benchrunner.runs.runner import Runner, make_current
from benchrunner.runs.workers import devices_of_workers
from gpus import pretend
from inline import QUICK, mood, plugins, runner

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
    assert devices_of_workers(Computing(device), 3) == devices


def test_workers_with_several_gpus_each_share_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, [A100] * 4)
    assert devices_of_workers(Computing("cuda", devices=2), 2) == ["cuda:0", "cuda:2"]


@pytest.mark.parametrize(
    ("device", "devices", "jobs", "reason"),
    [
        ("cpu", 3, 1, "--devices-per-fit 3 needs 3 devices, and this machine has 2 core(s) for this process, whose"),
        (
            "cpu",
            2,
            2,
            "--devices-per-fit 2 with --jobs 2 needs 4 devices, and this machine has 2 core(s)",
        ),
        ("cuda:3", 2, 1, "--devices-per-fit 2 needs 2 devices, and this machine has 1 GPU(s) from cuda:3 on."),
        ("mps", 2, 1, "--devices-per-fit 2 needs 2 devices, and this machine has 1 device of the kind mps."),
    ],
)
def test_more_devices_than_there_are_are_refused(
    device: str, devices: int, jobs: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, [A100] * 4)
    monkeypatch.setattr("benchrunner.fits.computing.available_cores", lambda: 2)
    for enough in (Computing(device), Computing("cpu", devices=2), Computing("cuda", devices=4)):
        enough.check_devices()
    with pytest.raises(RequestError, match=re.escape(reason)):
        Computing(device, devices=devices).check_devices(jobs)


@pytest.mark.parametrize(
    ("device", "devices", "asked", "gpus"),
    [("cpu", 2, None, 0), ("cuda", 1, None, 1), ("cuda", 2, None, 2), ("cuda", 1, 0.5, 0.5), ("cpu", 2, 2, 2)],
)
def test_clusters_are_asked_for_a_gpu_per_device(device: str, devices: int, asked: float | None, gpus: float) -> None:
    assert Computing(device, devices=devices).gpus(asked) == gpus


@pytest.mark.parametrize(("devices", "asked"), [(1, 2), (2, 1), (2, 0.5), (2, 3)])
def test_other_numbers_of_gpus_than_of_devices_are_refused(devices: int, asked: float) -> None:
    with pytest.raises(RequestError, match=rf"gpus={asked:g} is not the number of --devices-per-fit, {devices}\."):
        Computing("cuda", devices=devices).gpus(asked)


@pytest.mark.parametrize("count", ["0", "2.5", "1025"])
def test_a_wrong_number_of_devices_is_refused(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "mine/mood", "--backbone", "words", "--devices-per-fit", count]
    with pytest.raises(SystemExit, match="2"):
        main(words, plugins=plugins())
    assert "--devices-per-fit must be a whole number from 1 to 1,024, not " in capsys.readouterr().err


def test_several_devices_need_a_plugin(tmp_path: Path) -> None:
    made = runner(tmp_path)
    alone = Runner(made.plugins, made.workspace, Computing("cpu", devices=2))
    with pytest.raises(RequestError, match="--devices-per-fit comes with the plugin 'devices'"):
        _ = alone.resolved


def test_the_offered_team_computes_the_steps(tmp_path: Path) -> None:
    """Only fits that ask for several devices are given to it."""
    asked = list[int]()

    class Team:
        def run(self, job: Any, training: Any) -> None:
            def compute(step: int) -> Any:
                asked.append(step)
                return training.gradients(step)

            training.compute = compute
            training.run()

    made = runner(tmp_path, offer_team=Team())
    several = Runner(made.plugins, made.workspace, Computing("cpu", devices=2))
    record = several.run(several.planner.plan(mood(), "words", recipe=QUICK.changed(epochs=1)))
    assert record.status == "done" and record.numerics["devices"] == 2
    assert asked == list(range(6))
    made.run(made.planner.plan(mood(), "words", recipe=QUICK.changed(epochs=1), seed=1))
    assert len(asked) == 6


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
    computing = Computing(**Computing.given(parser.parse_args(words)))
    assert (computing.cuda_graphs, computing.kernels) == ("--no-cuda-graphs" not in words, "--no-kernels" not in words)
