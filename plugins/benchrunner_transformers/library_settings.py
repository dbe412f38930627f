"""Settings of the library transformers in this process: it prints no reports, and fetches no code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Let the library print errors only. Its settings are those of the whole process, and are restored afterwards."""
    from transformers.utils import logging

    verbosity = logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def forbid_kernels() -> None:
    """Keep the library from fetching compiled code of the hub, also if the package `kernels` is installed.

    RWKV and YOSO then compute with their code in Python, and MRA computes nothing. The setting is that of the process.
    """
    from transformers.integrations import hub_kernels

    hub_kernels.is_kernels_available = lambda *_: False
    hub_kernels._kernels_enabled = False
