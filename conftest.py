"""For every test of every distribution: set before anything can import torch."""

import gc
import os
import signal
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

# The tests' models are tiny: a second thread costs more than it computes. Tests of several threads ask for them, and a
# number that is set already is kept: every test passes with it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GOMP_SPINCOUNT", "3000")  # OpenMP's waiting threads must not starve a busy machine
# A suite in the background (nohup ... &) inherits that Ctrl-C is ignored; tests interrupt themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _hashed_once() -> Iterator[None]:
    """Hash the source of each plugin of this checkout once: every registry of a test asks, and no test edits it."""
    from benchrunner.plugins import distributions

    source_hash, hashes = distributions.source_hash, dict[tuple[str, ...], str]()

    def remembered(plugin: object, own: Collection[str] = ()) -> str:
        files = [str(getattr(sys.modules.get(name), "__file__", "")) for name in distributions._homes(plugin)]
        if not all(Path(file).is_relative_to(Path(__file__).parent) for file in files):
            return source_hash(plugin, own)
        key = (*files, "", *sorted(own))
        if key not in hashes:
            hashes[key] = source_hash(plugin, own)
        return hashes[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributions, "source_hash", remembered)
        yield


@pytest.fixture(scope="session", autouse=True)
def _unflushed() -> Iterator[None]:
    """Leave files to the system's cache: those of a test need not outlast a power cut, and a disk is slow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _memory_given_back() -> Iterator[None]:
    """Let the system have freed memory, which a training keeps for its next step: a process tests thousands of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchrunner.training.memory._KEPT", {})
        yield


@pytest.fixture(scope="session", autouse=True)
def _fp32_by_default() -> Iterator[None]:
    """Compute in fp32 where nothing else is said, on every machine, as a processor without units for bf16 does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchrunner.training.precision._BF16_UNITS", ())
        yield


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


GARBAGE = 64 * 2**20
"""Bytes that the memory of a process may grow by until its garbage is collected: models are often parts of cycles."""
_after_collection = [0]


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """Collect the garbage of tests that leave much; Python counts objects, and a tensor is a small one."""
    yield
    if _resident() > _after_collection[0] + GARBAGE:
        gc.collect()
        _after_collection[0] = _resident()


def _resident() -> int:
    """Return the bytes of this process in memory; 0 where the system has no such file."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
