"""Discovery: load each plugin separately, so that a broken plugin is set aside and the others work."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable

from benchrunner.errors import BenchrunnerError
from benchrunner.plugins.distributions import Plugin, check_requirements, installed_version, source_hash
from benchrunner.plugins.hookspecs import GROUP
from benchrunner.plugins.loading import Loading
from benchrunner.plugins.registry import Plugins

CORE = importlib.metadata.EntryPoint("core", "benchrunner.builtin", GROUP)
"""Entry point of the core's own plugin. The core also works from a checkout that is not installed."""


def discover(*, extra: Iterable[tuple[str, object]] = (), installed: bool = True) -> Plugins:
    """Load all plugins: the core's, the installed plugins of the entry-point group, and `extra` as (name, module)."""
    core = CORE.load()
    plugins = Plugins(Plugin(CORE.name, "benchrunner", installed_version("benchrunner", core)))
    plugins.add_core(core)
    with Loading() as loading:
        points = _entry_points(plugins) if installed else []
        for point in sorted(points, key=lambda point: (point.name, point.value)):
            try:
                with loading.plugin(point.name):
                    if point.dist is not None:
                        check_requirements(point.dist)
                    module = point.load()
                    distribution = point.dist.name if point.dist is not None else point.name
                    plugin = Plugin(point.name, distribution, installed_version(distribution, module))
                    plugins.add(plugin, module)
            except BenchrunnerError as error:
                plugins.fail(point.name, error)
        extra = list(extra)
        for name, module in extra:
            with loading.plugin(name):
                plugins.add(Plugin(name, name, f"0+source.{source_hash(module)}"), module)
    plugins.are_installed = installed and not extra
    return plugins


def _entry_points(plugins: Plugins) -> list[importlib.metadata.EntryPoint]:
    """List the entry points of the group; a distribution with damaged metadata is set aside, whatever it brings."""
    try:
        return list(importlib.metadata.entry_points(group=GROUP))
    except Exception:  # of any distribution on this machine
        points = list[importlib.metadata.EntryPoint]()
    for distribution in importlib.metadata.distributions():
        try:
            points += [point for point in distribution.entry_points if point.group == GROUP]
        except Exception as error:
            plugins.fail(_folder_name(distribution), error, "its entry_points.txt cannot be read: ")
    return points


def _folder_name(distribution: importlib.metadata.Distribution) -> str:
    """Return the name of a distribution as its folder has it; its metadata may be damaged."""
    path = getattr(distribution, "_path", None)
    return str(getattr(path, "name", "of unknown name"))
