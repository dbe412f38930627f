"""Messages of DeepSpeed: warnings are hidden, and errors leave standard output alone."""

import pytest

import forked

pytest.importorskip("deepspeed")

PROGRAM = """
import logging
from benchrunner_bert.pretraining.deepspeed.processes import load_deepspeed
load_deepspeed()
logging.getLogger("DeepSpeed").warning("an untested optimizer")
logging.getLogger("DeepSpeed").error("a real error")
"""


def test_deepspeed_writes_errors_alone_and_to_standard_error() -> None:
    done = forked.run(["-c", PROGRAM])
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "a real error" in done.stderr and "untested" not in done.stderr
