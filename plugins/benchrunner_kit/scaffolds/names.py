"""Names of new plugins: what they may be, and which are taken."""

from __future__ import annotations

import importlib.util
import keyword
import re
from collections.abc import Collection

from benchrunner import RequestError, quoted
from benchrunner.results import Plugins

LONGEST = 30
"""Characters of the longest name: the name becomes a part of names of files, modules and classes."""
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def check_form(name: str) -> None:
    """Raise a `RequestError` if a name cannot be a part of the name of a module and of a distribution."""
    if "/" in name or "\\" in name or name in (".", ".."):
        raise RequestError(f"{quoted(name)} is a path. Give a name, such as 'mood', and the folder with --out.")
    if not _NAME.fullmatch(name):
        raise RequestError(
            f"{quoted(name)} cannot be the name of a plugin: lower-case letters and digits are allowed, with single "
            "underscores between them, and a letter comes first, such as my_mood."
        )
    if len(name) > LONGEST:
        raise RequestError(f"{quoted(name)} has {len(name):,} characters; a plugin's name has at most {LONGEST}.")
    if name.startswith("benchrunner"):
        raise RequestError(f"'{name}': leave 'benchrunner' out; it is put before the name of the package.")
    if keyword.iskeyword(name):
        raise RequestError(f"'{name}' is a keyword of Python. Choose another name.")


def check_is_free(kind: str, name: str, plugins: Plugins, taken: Collection[str]) -> None:
    """Raise a `RequestError` if a plugin has the name, or offers a value of the kind with this name.

    `taken` holds the names of the values. A name also stands for a value of which it is the last part: 'rte' for
    'suite/rte'.
    """
    supplier = {plugin.name: plugin.distribution for plugin in (plugins.core, *plugins.loaded)}
    set_aside = {part.plugin: "the distribution of a plugin that is set aside" for part in plugins.set_aside}
    known = (supplier | set_aside).get(name)
    if known:
        raise RequestError(f"There is a plugin '{name}' already, from {known}. Choose another name.")
    same = sorted(value for value in taken if name in (value, value.rpartition("/")[2]))
    if same:
        raise RequestError(f"The {kind} '{same[0]}' is there already. Choose another name.")
    if importlib.util.find_spec(f"benchrunner_{name}") is not None:
        raise RequestError(f"A Python package 'benchrunner_{name}' is installed already. Choose another name.")
