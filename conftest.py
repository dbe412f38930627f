"""For every test of every distribution: set before anything can import torch."""

import os
import signal

import pytest

# The tests' models are tiny: a second thread costs more than it computes. Tests of several threads ask for them, and a
# number that is set already is kept: every test passes with it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GOMP_SPINCOUNT", "3000")  # OpenMP's waiting threads must not starve a busy machine
# A suite in the background (nohup ... &) inherits that Ctrl-C is ignored; tests interrupt themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def narrow_bilstm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make 32 the default of a recipe's `bilstm_width`, for tests that train a BiLSTM: 768 takes 30 times as long."""
    from benchrunner.parameters.recipes import Recipe

    narrow = {**vars(Recipe()), "bilstm_width": 32}
    monkeypatch.setattr(Recipe.__init__, "__defaults__", tuple(narrow.values()))


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide from a test that an earlier test pre-trained in this process, which then counts as a run's only process."""
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
