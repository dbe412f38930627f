"""Everything that can go wrong, as one tree.

BenchrunnerError
├── RequestError           what the user asked cannot be understood or found (exit code 2)
│   ├── UnknownName        no task, backbone, method or leaderboard of that name
│   ├── DataError          a data file or hub data set is missing or malformed; names file and line
│   │   └── BadRows        some of its rows contradict themselves; they may be left out on request
│   └── CheckpointError    a backbone's files are missing, foreign or do not fit together
├── PluginError            a plugin broke its contract; discovery sets the plugin aside
├── FitError               a fit could not be finished (exit code 1)
└── Undefined              a metric has no value here; the score is absent, with this reason
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from itertools import islice

SHOWN_ROWS = 5
"""How many of many bad rows an error shows."""


class BenchrunnerError(Exception):
    """The root: catching it catches every failure that benchrunner foresees."""


class RequestError(BenchrunnerError):
    """What the user asked cannot be understood or found."""


class UnknownName(RequestError):
    """A name that nothing answers to, with the names that come closest."""

    def __init__(self, kind: str, name: str, known: Iterable[str], advice: str = "") -> None:
        known = sorted(known)
        text = f"There is no {kind} '{name}'."
        if close := closest_names(name, known):
            text += f" Did you mean {' or '.join(close)}?"
        elif known:
            text += f" Known: {', '.join(known[:12])}{', ...' if len(known) > 12 else ''}."
        elif not advice:
            text += f" No plugin offers a {kind}: see 'benchrunner doctor'."
        super().__init__(f"{text} {advice}".rstrip())


def closest_names(name: str, known: Iterable[str]) -> list[str]:
    """The few names that somebody may have meant, compared whole and by their last part."""
    known = sorted(known)
    tails = {one.rsplit("/", 1)[-1]: one for one in known}
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    close += [tails[tail] for tail in difflib.get_close_matches(name, list(tails), n=3, cutoff=0.6)]
    return list(dict.fromkeys(close))


class DataError(RequestError):
    """A data file or hub data set is missing or malformed."""


class BadRows(DataError):
    """Rows that contradict themselves; a user may ask to leave them out."""

    def __init__(self, places: Mapping[int, str], faults: Mapping[int, str]) -> None:
        self.rows = dict(faults)
        shown = "\n".join(f"  - {places[row]}: {fault}" for row, fault in islice(faults.items(), SHOWN_ROWS))
        more = f"\n  ... {len(faults):,} rows in all" if len(faults) > SHOWN_ROWS else ""
        super().__init__(
            f"Rows that cannot be right:\n{shown}{more}\nMend them, or leave them out with --leave-out-bad-rows."
        )


class CheckpointError(RequestError):
    """A backbone's files are missing, foreign or do not fit together."""


class PluginError(BenchrunnerError):
    """A plugin broke its contract."""


class FitError(BenchrunnerError):
    """A fit could not be finished."""


class Undefined(BenchrunnerError):
    """A metric has no value for these predictions; the message is the reason shown in its place."""


def described(error: BaseException) -> str:
    """Any error in one line: its kind and what it says."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def first_line(error: BaseException) -> str:
    """Give the first line of an error's message, or the error's type where the message is empty."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
