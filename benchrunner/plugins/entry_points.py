"""Entry points: which plugins are installed, which of them a user wants, and which lack a library."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote

from benchrunner.errors import PluginError, UnknownName
from benchrunner.plugins.distributions import DISTRIBUTION, origin_of

CORE = "core"
"""Name of the core's own entry point."""
CHOICE = "BENCHRUNNER_PLUGINS"
"""Environment variable that chooses plugins: `mine,other` means these alone, `no:ray,no:slurm` all but these."""


def core_entry_point() -> metadata.EntryPoint:
    """Return the entry point of the core's own methods, executor and commands."""
    try:
        (point,) = metadata.distribution(DISTRIBUTION).entry_points.select(group=DISTRIBUTION, name=CORE)
    except (metadata.PackageNotFoundError, ValueError):
        raise PluginError("benchrunner is not installed in this Python: 'pip install -e .' in its checkout") from None
    return point


def entry_points(tell_damage: Callable[[str, Exception], None] = lambda name, error: None) -> list[metadata.EntryPoint]:
    """List the entry points of all plugins but the core's, by name.

    A distribution whose list of entry points is damaged brings none; `tell_damage` is told its name and the error.
    """
    points: dict[tuple[str, str], metadata.EntryPoint] = {}
    for distribution in metadata.distributions():
        try:
            for point in distribution.entry_points.select(group=DISTRIBUTION):
                points.setdefault((point.name, point.value), point)  # see `installed_version`
        except Exception as error:  # of any distribution on this machine
            tell_damage(Path(str(getattr(distribution, "_path", "a distribution"))).name, error)
    points.pop((CORE, core_entry_point().value))
    return [points[key] for key in sorted(points)]


def missing_libraries(point: metadata.EntryPoint) -> list[str]:
    """Name the libraries that a plugin lacks: those of the extra in its entry point, as in `ray = "my_ray [ray]"`."""
    missing = []
    for text in (point.dist.requires if point.extras and point.dist else None) or ():
        library, extra = re.match(r"[\w.-]+", text), re.search(r"extra == ['\"]([\w-]+)['\"]", text)
        if library and extra and extra[1] in point.extras and not list(metadata.distributions(name=library[0])):
            missing.append(library[0])
    return missing


def is_wanted(plugin: str) -> bool:
    """Return whether the environment variable lets a plugin be used."""
    words = _chosen()
    wanted = [word for word in words if not word.startswith("no:")]
    return f"no:{plugin}" not in words and (not wanted or plugin in wanted)


def check_choice(known: Collection[str]) -> None:
    """Raise an `UnknownName` if the environment variable names a plugin that is not among those installed."""
    for word in _chosen():
        name = word.removeprefix("no:")
        if name not in known:
            raise UnknownName("installed plugin", name, known, where=f"which {CHOICE} names")


def _chosen() -> list[str]:
    return os.environ.get(CHOICE, "").replace(",", " ").split()


def note_on_choice() -> str:
    """Say that the environment variable leaves plugins out; an empty text if it does not."""
    return f"{CHOICE}={','.join(_chosen())} leaves plugins out." if _chosen() else ""


def note_on_libraries() -> str:
    """Say which plugins lack a library, and how to install it; an empty text if none does."""
    extras = {}
    for point in entry_points():
        if point.dist and missing_libraries(point):
            origin = origin_of(point.dist)
            place = re.search(r'"url": *"file://([^"]+)"', origin)  # on no index, perhaps
            name = unquote(place[1]) if place else point.dist.name
            option = "-e " * ('"editable": true' in origin)
            extras[point.name] = f"{option}'{name}[{','.join(point.extras)}]'"
    if not extras:
        return ""
    return f'Not used without libraries: {", ".join(extras)}; "pip install {" ".join(extras.values())}" brings them.'
