"""Discovery: load each plugin separately, so that a broken plugin is set aside and the others work."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial, reduce
from importlib import import_module
from typing import NamedTuple

from benchrunner.errors import BenchrunnerError
from benchrunner.plugins.distributions import (
    DISTRIBUTION,
    Distribution,
    Plugin,
    by_name,
    check_requirements,
    distributions,
    installed_version,
    source_hash,
)
from benchrunner.plugins.loading import Loading
from benchrunner.plugins.registry import Plugins


class EntryPoint(NamedTuple):
    """An entry point of an installed plugin: a name, and the module, or the object in it, with the hooks."""

    name: str
    value: str
    distribution: Distribution

    def load(self) -> object:
        """Import the module, and return the module or the object."""
        match = re.fullmatch(r"([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\])?", self.value)
        if match is None:
            raise ValueError(f"the entry point '{self.name}' names '{self.value}', which is no module")
        attributes = match[2].split(".") if match[2] else []
        return reduce(getattr, attributes, import_module(match[1]))


def discover(*, extra: Iterable[tuple[str, object]] = (), installed: bool = True) -> Plugins:
    """Load all plugins: the core's, the installed plugins of the entry-point group, and `extra` as (name, module).

    The core also works from a checkout that is not installed.
    """
    core = import_module("benchrunner.builtin")
    plugins = Plugins(Plugin("core", DISTRIBUTION, partial(installed_version, DISTRIBUTION, core)))
    plugins.add_core(core)
    with Loading() as loading:
        present = by_name(distributions()) if installed else {}
        for point in sorted(entry_points(present.values(), plugins), key=lambda point: point[:2]):
            try:
                with loading.plugin(point.name):
                    check_requirements(point.distribution, present)
                    module = point.load()
                    name = point.distribution.name
                    plugins.add(Plugin(point.name, name, partial(installed_version, name, module)), module)
            except BenchrunnerError as error:
                plugins.fail(point.name, error)
        extra = list(extra)
        for name, module in extra:
            with loading.plugin(name):
                plugins.add(Plugin(name, name, partial(_version_of_source, module)), module)
    plugins.are_installed = installed and not extra
    return plugins


def _version_of_source(module: object) -> str:
    return f"0+source.{source_hash(module)}"


def entry_points(present: Iterable[Distribution], plugins: Plugins) -> list[EntryPoint]:
    """List the entry points of the group; a distribution with damaged metadata is set aside, whatever it brings."""
    points = []
    for distribution in present:
        try:
            points += [EntryPoint(name, value, distribution) for name, value in distribution.entry_points]
        except Exception as error:  # of any distribution on this machine
            plugins.fail(distribution.folder.name, error, "its entry_points.txt cannot be read: ")
    return points
