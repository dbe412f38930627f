"""Plugins that raise every kind of error in every place."""

from collections.abc import Iterator

from bad_plugins.case import BASE, Case
from bad_plugins.places import PLACES

ERRORS = {
    "BaseException": "raise BaseException('oops')",
    "GeneratorExit": "raise GeneratorExit('oops')",
    "CancelledError": "import asyncio; raise asyncio.CancelledError('oops')",
    "sys.exit": "import sys; sys.exit(3)",
    "MemoryError": "raise MemoryError",
    "RecursionError": "f = lambda: f(); f()",
    "message of 1 MB": "raise ValueError('oops ' * 200_000)",
    "message with escapes": "raise ValueError('\\x1b]0;owned\\x07\\x9b31m\\u202e')",
    "message that is not UTF-8": "raise ValueError('\\udcff oops')",
    "group": "raise BaseExceptionGroup('oops', [ValueError('a'), KeyboardInterrupt()])",
    "message that fails": "raise type('Mute', (ValueError,), {'__str__': lambda self: 1 / 0})",
    "message that fails, of ours": "import benchrunner.engine as ours; "
    "raise type('Mute', (ours.FitError,), {'__str__': lambda self: 1 / 0})",
}
"""What a plugin raises or does: a statement."""


def case(error: str, place: str) -> Case:
    """Make the case of an error in a place."""
    source, words, said, codes = PLACES[place]
    return Case(f"{error} {place}", BASE.format(error=ERRORS[error]) + source, words, said, codes)


def cases() -> Iterator[Case]:
    """Give every error in every place, but for commands that end their process, which they may."""
    for place in PLACES:
        for error in ERRORS:
            if place not in ("in a command", "in an estimate") or "exit" not in error:
                yield case(error, place)


def few_cases() -> Iterator[Case]:
    """Give one error for each place."""
    errors = list(ERRORS)
    for number, place in enumerate(PLACES):
        error = errors[number % len(errors)]
        if place not in ("in a command", "in an estimate") or "exit" not in error:
            yield case(error, place)
