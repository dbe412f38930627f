"""Discovery: load each plugin separately, so that a broken plugin is set aside and the others work."""

from collections.abc import Collection
from functools import lru_cache, partial
from importlib import metadata

from benchrunner.plugins.distributions import DISTRIBUTION, Plugin, installed_version, top_package
from benchrunner.plugins.entry_points import (
    CORE,
    check_choice,
    core_entry_point,
    entry_points,
    is_wanted,
    missing_libraries,
)
from benchrunner.plugins.loading import Loading
from benchrunner.plugins.registry import Plugins


def discover(*, extra: Collection[tuple[str, object]] = (), installed: bool = True) -> Plugins:
    """Load all plugins: the core's, the installed plugins of the entry-point group, and `extra` as (name, module).

    The environment variable BENCHRUNNER_PLUGINS leaves installed plugins out; a plugin that lacks a library is not
    loaded either.
    """
    core = core_entry_point().load()
    plugins = Plugins(Plugin(CORE, DISTRIBUTION, partial(installed_version, DISTRIBUTION, core)))
    plugins.manager.register(core, name=CORE)
    with Loading() as loading:
        if installed:
            _add_installed(plugins, loading)
        for name, module in extra:
            with loading.plugin(name):
                plugins.add(Plugin(name, name, partial(installed_version, name, module)), module)
    plugins.are_installed = installed and not extra
    return plugins


def _add_installed(plugins: Plugins, loading: Loading) -> None:
    """Load the installed plugins that are wanted and have their libraries; of the others, note whose their code is."""
    points = entry_points(partial(plugins.fail, where="its entry_points.txt cannot be read: "))
    check_choice([point.name for point in points])
    for point in points:
        plugin = _plugin(point)
        plugins.packages.setdefault(top_package(point.value), plugin)  # others may import the code of one left out
        if is_wanted(point.name) and not missing_libraries(point):
            with plugins.setting_aside(point.name), loading.plugin(point.name):
                if not point.pattern.match(point.value):
                    raise ValueError(f"the entry point '{point.name}' names '{point.value}', which is no module")
                plugins.add(plugin, point.load())


def _plugin(point: metadata.EntryPoint) -> Plugin:
    """Describe the plugin of an entry point without loading it."""
    distribution = _name(point.dist) if point.dist else ""
    return Plugin(point.name, distribution, lambda: installed_version(distribution, point.load()))


@lru_cache(1)  # the distribution of most plugins is the same, and its name is read from a file of thousands of lines
def _name(distribution: metadata.Distribution) -> str:
    return distribution.name
