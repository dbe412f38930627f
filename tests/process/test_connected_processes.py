"""Processes that are started with a connection to this one, such as workers."""

import os
import signal
from typing import Any

from benchrunner.process.interrupts import accepted, start_connected


def answer(descriptor: int) -> None:
    """Answer with the id of this process, and print what must not stand among results."""
    connection = accepted(descriptor)
    print("noise")
    connection.send(os.getpid())


def test_a_connected_process_answers_and_outlives_ctrl_c(capfd: Any) -> None:
    process, connection = start_connected(answer)
    process.send_signal(signal.SIGINT)  # a terminal sends it to all processes, also while this one starts
    assert connection.recv() == process.pid
    assert process.wait() == 0
    assert capfd.readouterr() == ("", "noise\n")
