"""The whole table of bad plugins, and the part of it that is tried in every run of the tests."""

import signal

from bad_plugins import (
    backbones,
    boards,
    commands,
    executors,
    installed,
    loading,
    methods,
    printing,
    problems,
    raised,
    sources,
    tasks,
)
from bad_plugins.case import Case

WRONG_PARTS = (
    tasks,
    sources,
    problems,
    methods,
    executors,
    backbones,
    boards,
    commands,
    printing,
    installed,
    loading,
)


def cases() -> list[Case]:
    """Return the whole table."""
    return [case for part in (raised, *WRONG_PARTS) for case in part.cases()]


def few_cases() -> list[Case]:
    """Return a part of the table that has every place, every error, and some of each other kind."""
    others = [case for part in WRONG_PARTS for case in part.cases() if case.codes != (-signal.SIGALRM,)]
    return [*raised.few_cases(), *others[::9]]
