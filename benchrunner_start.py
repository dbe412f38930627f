"""The program `benchrunner`: ends without a traceback if it is stopped while it is being loaded.

This module lies outside the package, because importing the package takes a large part of the loading.
"""

# PYTHON_ARGCOMPLETE_OK: argcomplete looks for this mark before it asks a program for completions

import os
import signal
import sys
from types import FrameType


def main() -> int:
    """Run the command line of this process."""
    ours = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    if hasattr(signal, "SIGHUP"):
        ours[signal.SIGHUP] = signal.SIG_DFL
    for number, handler in ours.items():
        if signal.getsignal(number) is handler:  # not if it is ignored, as after nohup
            signal.signal(number, _end)
    from benchrunner.command_line.main import main

    return main()


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
