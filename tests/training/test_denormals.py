"""Denormal numbers while a model trains."""

import platform
from pathlib import Path

import pytest

import forked
from benchrunner.training.denormals import are_flushed
from tiny_fits import fitted

STEP = """
import numpy, torch
from benchrunner.training.denormals import are_flushed, flushed_denormals
torch.set_num_threads(2)
size = 1_000_000
def denormal_means():
    # Of weights whose last gradient is long ago, after another step without one.
    weight, gradient, square = torch.ones(size), torch.zeros(size), torch.zeros(size)
    mean = torch.from_numpy(numpy.full(size, 1e-39, numpy.float32))
    torch._fused_adamw_([weight], [gradient], [mean], [square], [], [torch.tensor(900.0)], lr=1e-5, beta1=0.9,
        beta2=0.999, weight_decay=0.01, eps=1e-6, amsgrad=False, maximize=False)
    return int((mean.view(torch.int32) != 0).sum())
print(denormal_means())  # starts the threads
with flushed_denormals() as state:
    print(denormal_means(), are_flushed())
print(denormal_means(), are_flushed(), state)
torch.set_flush_denormal(True)
with flushed_denormals():
    pass
print(denormal_means(), are_flushed())
"""


@pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64", reason="another OpenMP or processor"
)
def test_all_threads_flush_denormals_and_are_reset() -> None:
    done = forked.run(["-c", STEP])
    assert done.stdout.split() == ["1000000", "0", "True", "1000000", "False", "flushed", "0", "True"]


def test_training_flushes_denormals_and_resets_them(tmp_path: Path) -> None:
    flushed = set[bool]()
    training = fitted(tmp_path, report=lambda step, steps, figures: flushed.add(are_flushed())).training
    assert flushed == {True} and training.denormals == "flushed" and not are_flushed()
