"""Peaks of memory are read from the system as it gives them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchrunner import RequestError
from benchrunner_speed import peak_memory
from benchrunner_speed.peak_memory import STATUS

CODE = """
import sys
sys.path[:0] = sys.argv[1].split(":")
from benchrunner_speed.peak_memory import resident_peak
before = resident_peak()
block = bytearray(b"x") * 50_000_000
del block
print(before, resident_peak())
"""


@pytest.mark.skipif(not STATUS.exists(), reason="only Linux tells the peak of a new process alone")
def test_the_peak_is_of_the_process_and_not_of_its_parent() -> None:
    block = bytearray(b"x") * 75_000_000  # the parent is larger
    run = subprocess.run([sys.executable, "-c", CODE, ":".join(sys.path)], capture_output=True, text=True, check=True)
    before, after = map(int, run.stdout.split())
    assert len(block) > before
    assert 45_000_000 < after - before < 60_000_000  # less, where freed memory is used again


def test_a_system_that_tells_no_peak_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peak_memory, "STATUS", Path("absent"))
    monkeypatch.setitem(sys.modules, "resource", None)
    with pytest.raises(RequestError, match="on Linux and macOS only"):
        peak_memory.resident_peak()
