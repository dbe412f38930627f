"""Messages of DeepSpeed: warnings are hidden, and errors leave standard output alone."""

import subprocess
import sys

import pytest

pytest.importorskip("deepspeed")

PROGRAM = """
import logging
from benchrunner_bert.pretraining.deepspeed.processes import load_deepspeed
load_deepspeed()
logging.getLogger("DeepSpeed").warning("an untested optimizer")
logging.getLogger("DeepSpeed").error("a real error")
"""


def test_deepspeed_writes_errors_alone_and_to_standard_error() -> None:
    """In a process that imports DeepSpeed itself: the import chooses the stream."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert "a real error" in done.stderr and "untested" not in done.stderr
