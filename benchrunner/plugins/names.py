"""Names that users give: a full name, its last part, or `PLUGIN:NAME`, which is looked up in one plugin only."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping

from benchrunner.errors import RequestError, UnknownName

_LIKE_A_PLUGIN = re.compile(r"[A-Za-z][\w.-]+")
"""Texts that may be the name of a plugin. A single letter is the drive of a Windows path."""


def meant(name: str, known: Collection[str]) -> str | None:
    """Return the known name that the user means by a full name or by the part after the slash; None if there is none.

    Raise a `RequestError` if several known names end in the given part.
    """
    matches = [name] if name in known else sorted(full for full in known if full.rsplit("/", 1)[-1] == name)
    if len(matches) > 1:
        raise RequestError(f"'{name}' could be {' or '.join(matches)}: say which.")
    return matches[0] if matches else None


def split_prefix(text: str, plugins: Collection[str]) -> tuple[str | None, str]:
    """Split `PLUGIN:NAME` into the two names; the plugin is None if no known plugin's name stands before the colon.

    Texts with another colon keep their meaning: `C:/models`, or `facebook/bart-base:encoder`.
    """
    plugin, colon, name = text.partition(":")
    return (plugin, name) if colon and plugin in plugins else (None, text)


def mistyped_prefix(text: str, plugins: Collection[str]) -> str | None:
    """Return what stands before the colon of a text if it is close to the name of a plugin, else None."""
    plugin, colon, _ = text.partition(":")
    is_close = _LIKE_A_PLUGIN.fullmatch(plugin) and difflib.get_close_matches(plugin.casefold(), plugins, cutoff=0.75)
    return plugin if colon and is_close else None


def check_plugin(name: str, values: str, offering: Collection[str], idle: Mapping[str, str]) -> None:
    """Raise a `RequestError` unless a plugin offers values of a kind.

    `values` names the kind in the plural, `offering` are the plugins that offer such values, and `idle` maps each of
    the other plugins to the reason why it offers none.
    """
    if name in offering:
        return
    if name in idle:
        others = f" Plugins with {values}: {', '.join(sorted(offering))}." if offering else ""
        raise RequestError(f"The plugin '{name}' offers no {values}: {idle[name]}.{others}")
    raise UnknownName("plugin", name, offering, "'benchrunner list plugins' shows all plugins.", where=f"with {values}")
