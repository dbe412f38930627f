"""Names of kept studies: those that users give, and names derived from what is compared."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchrunner.errors import RequestError
from benchrunner.fits.fit import identity

LONGEST_NAME = 100
"""Characters of a study's name, so that every file system takes its file."""
LONGEST_WORD = 24
"""Characters of a backbone or task in a derived name."""
MANY = 3
"""From this number on, a derived name counts backbones or tasks instead of naming them."""


def check_name(name: str) -> str:
    """Return the name of a study; raise a `RequestError` if it cannot be the name of a file."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name) or len(name) > LONGEST_NAME:
        raise RequestError(
            f"A study's name has letters, digits and . _ + - only, begins with a letter or digit and is at most "
            f"{LONGEST_NAME} characters long, not '{name}'."
        )
    return name


def derived_name(
    backbones: Sequence[str], tasks: Collection[str], request: Mapping[str, Any], *, methods: Sequence[str] = ()
) -> str:
    """Name a study by its backbones, its methods if they are several, and its tasks.

    Six digits of a hash tell it from other requests about the same.
    """
    compared = "-vs-".join(map(_word, backbones)) if len(backbones) < MANY else f"{len(backbones)}-backbones"
    if len(methods) > 1:
        compared += f"-by-{'-vs-'.join(map(_word, methods)) if len(methods) < MANY else f'{len(methods)}-methods'}"
    return f"{compared}-on-{_tasks(list(tasks))}-{identity(request)[:6]}"


def derived_file_name(name: str, scale: str, request: Mapping[str, Any]) -> str:
    """Name a study of a study file by the file and the scale, with six digits of a hash of the request."""
    return f"{_word(name.removesuffix('.toml'))}-{_word(scale)}-{identity(request)[:6]}"


def _tasks(tasks: Sequence[str]) -> str:
    if len(tasks) < MANY:
        return "-".join(map(_word, tasks))
    suites = {task.partition("/")[0] for task in tasks}
    return f"{len(tasks)}-tasks" if len(suites) > 1 else f"{len(tasks)}-{_word(suites.pop())}-tasks"


def _word(name: str) -> str:
    """Shorten a name for a study's name: without namespace or parent folders, with only letters, digits, - and ."""
    is_path = name.startswith(("/", ".", "~"))
    own = Path(name.rstrip("/")).name if is_path else name.partition("/")[2] or name
    word = re.sub(r"[^A-Za-z0-9.]+", "-", own).strip("-.")
    return word[:LONGEST_WORD].rstrip("-.") or "unnamed"
