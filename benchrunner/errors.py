"""The tree of all errors that benchrunner raises.

BenchrunnerError
├── RequestError           the request was not understood, or something was not found (exit code 2)
│   ├── UnknownName        no task, backbone, method or leaderboard of that name
│   ├── DataError          a data file or hub data set is missing or malformed; names file and line
│   │   └── BadRows        some of its rows contradict themselves; they may be left out on request
│   ├── CheckpointError    files of a backbone are missing, of another kind or do not fit together
│   └── DamagedFile        a file that benchrunner wrote was damaged or edited; names the file and the remedy
├── PluginError            a plugin broke its contract; discovery sets the plugin aside
├── FitError               a fit could not be finished (exit code 1)
│   └── Diverged           its losses, weights or outputs are not finite numbers
└── Undefined              a metric has no value here; the score is absent, with this reason
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from benchrunner.console.printing import printable

SHOWN_NAMES = 12
"""Number of known names that an error lists; the others are counted."""
SHOWN_ROWS = 5
"""Number of bad rows that an error shows; the others are counted."""
DESCRIBED_WIDTH = 1_000
"""The most characters of an error that is described in one line, for example in a record."""

UNPRINTABLE = "its message cannot be printed"


class BenchrunnerError(Exception):
    """Base class of all errors that benchrunner raises itself."""


class RequestError(BenchrunnerError):
    """The request was not understood, or something that it names was not found."""


class UnknownName(RequestError):
    """A name that no plugin offers; the message suggests the closest names."""

    def __init__(self, kind: str, name: str, known: Iterable[str], advice: str = "", *, where: str = "") -> None:
        """Take the kind of the name, and all names of this kind. `where` follows the name: "in these tasks"."""
        known = sorted(known)
        close = closest_names(name, known)
        text = f"There is no {kind} '{name}' {where}".rstrip() + "."
        if close:
            text += f" Did you mean {' or '.join(close)}?"
        elif len(known) > SHOWN_NAMES:
            text += f" Known: {', '.join(known[:SHOWN_NAMES])} and {len(known) - SHOWN_NAMES:,} more."
        elif known:
            text += f" Known: {', '.join(known)}."
        elif not advice:
            text += f" No plugin offers a {kind}: see 'benchrunner doctor'."
        super().__init__(f"{text} {advice}".rstrip())


def closest_names(name: str, known: Iterable[str]) -> list[str]:
    """Find the few names that a user may have meant, compared whole and by their last part, in lower case."""
    wholes = dict[str, str]()
    tails = dict[str, str]()
    for full in sorted(known):
        folded = full.casefold()
        wholes[folded] = full
        tails[folded.rpartition("/")[2]] = full
    wanted = name.casefold()
    import difflib

    close = [wholes[match] for match in difflib.get_close_matches(wanted, wholes, cutoff=0.5)]
    close += [tails[match] for match in difflib.get_close_matches(wanted, tails)]
    return list(dict.fromkeys(close))


class DataError(RequestError):
    """A data file or hub data set is missing or malformed."""


class BadRows(DataError):
    """Rows contradict themselves; the user can leave them out with --leave-out-bad-rows."""

    def __init__(self, places: Mapping[int, str], faults: Mapping[int, str]) -> None:
        self.rows = dict(faults)
        shown = "\n".join(f"  - {places[row]}: {fault}" for row, fault in islice(faults.items(), SHOWN_ROWS))
        more = f"\n  ... {len(faults):,} rows in all" if len(faults) > SHOWN_ROWS else ""
        super().__init__(
            f"Rows that cannot be right:\n{shown}{more}\nMend them, or leave them out with --leave-out-bad-rows."
        )


class CheckpointError(RequestError):
    """Files of a backbone are missing, of another kind or do not fit together."""


class DamagedFile(RequestError):
    """A file that benchrunner wrote was damaged or edited. The message names the file and how it is made again."""


class PluginError(BenchrunnerError):
    """A plugin broke its contract."""


class FitError(BenchrunnerError):
    """A fit could not be finished."""


class Diverged(FitError):
    """Losses, weights or outputs of a fit are not finite numbers. The fit's record gets the status diverged."""


class Undefined(BenchrunnerError):
    """A metric has no value for some predictions; the message says why and is shown in place of the score."""


def message_of(error: object) -> str:
    """Return the message of an error. An error of a plugin or a library may fail at it."""
    try:
        return str(error)
    except BaseException:
        return UNPRINTABLE


def described(error: BaseException) -> str:
    """Describe any error in one line: its type and its message, escaped and shortened."""
    text = " ".join(message_of(error).split())
    return printable(f"{type(error).__name__}: {text}".removesuffix(": "), DESCRIBED_WIDTH)


def first_line(error: BaseException) -> str:
    """Give the first line of an error's message, or the error's type where the message is empty."""
    return printable((message_of(error).strip().splitlines() or [type(error).__name__])[0])
