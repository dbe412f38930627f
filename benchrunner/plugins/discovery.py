"""Discovery: load each plugin separately, so that a broken plugin is set aside and the others work."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable

from benchrunner.plugins.hookspecs import GROUP
from benchrunner.plugins.registry import Plugins
from benchrunner.plugins.versions import Plugin, installed_version, source_hash

CORE = importlib.metadata.EntryPoint("core", "benchrunner.builtin", GROUP)
"""Entry point of the core's own plugin. The core also works from a checkout that is not installed."""


def discover(*, extra: Iterable[tuple[str, object]] = (), installed: bool = True) -> Plugins:
    """Load all plugins: the core's, the installed plugins of the entry-point group, and `extra` as (name, module)."""
    core = CORE.load()
    plugins = Plugins(Plugin(CORE.name, "benchrunner", installed_version("benchrunner", core)))
    plugins.add_core(core)
    points = importlib.metadata.entry_points(group=GROUP) if installed else ()
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        try:
            module = point.load()
        except (Exception, SystemExit) as error:  # an import may do anything
            plugins.fail(point.name, error)
            continue
        distribution = point.dist.name if point.dist is not None else point.name
        plugins.add(Plugin(point.name, distribution, installed_version(distribution, module)), module)
    for name, module in extra:
        plugins.add(Plugin(name, name, f"0+source.{source_hash(module)}"), module)
    plugins.set_wrong_leaderboards_aside()
    return plugins
