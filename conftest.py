"""For every test of every distribution: set before anything can import torch."""

import os

import pytest

# The tests' models are tiny: a second thread costs more than it computes. Tests of several threads ask for them, and a
# number that is set already is kept: every test passes with it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GOMP_SPINCOUNT", "3000")  # OpenMP's waiting threads must not starve a busy machine


@pytest.fixture
def narrow_bilstm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the BiLSTM of heads 32 wide, for tests that train it: the paper's 768 take 30 times as long."""
    monkeypatch.setattr("benchrunner.methods.heads.BILSTM_WIDTH", 32)
