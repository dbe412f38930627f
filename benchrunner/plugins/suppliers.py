"""Suppliers of a task: the packages whose code it runs, and which of them are libraries that no plugin has."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

from benchrunner.plugins.distributions import DISTRIBUTION, Plugin, imported, installed_version, top_package

if TYPE_CHECKING:
    from benchrunner.tasks.task import Task

EVERYBODYS = (DISTRIBUTION, "numpy", "pyarrow", "scikit-learn", "scipy", "torch")
"""Distributions that are no suppliers: a release of theirs is no reason to fit everything again."""


_distributions_of_packages = cache(metadata.packages_distributions)
"""Half a second of reading every installed distribution's list of files."""


@cache  # every fit of a grid asks
def library(package: str) -> Plugin | None:
    """Return an installed package that is no plugin's as a supplier; None for libraries that all tasks compute with."""
    for name in _distributions_of_packages().get(package, ()):
        if name not in EVERYBODYS:
            return Plugin(package, name, partial(installed_version, name, package))
    return None


def parts_of(task: Task) -> Iterator[object]:
    """Yield the values of a task that bring code: its problem, its sources and its metrics."""
    yield task.problem
    for split in task.splits.values():
        for source in split.sources:
            yield from (source, getattr(source, "source", None))
    for metric in task.metrics:
        yield from vars(metric).values()
        if metric.row_sums:
            yield from vars(metric.row_sums).values()


def code_behind(values: Iterable[object], own: Collection[str]) -> set[str]:
    """Return the top packages of the code behind values: of their classes, or of functions and of what these use.

    What a function uses are the values of its module, and of functions around it, that its code names. They are looked
    up for functions of the packages `own`, with all that the files of these functions import, when they run too.
    """
    packages, pending, seen = set[str](), list(values), set[int]()
    for part in pending:  # grows by what functions name
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, partial):
            pending += [part.func, *part.args, *part.keywords.values()]
        elif isinstance(part, ModuleType):
            packages.add(top_package(part.__name__))
        elif isinstance(part, FunctionType):
            package = top_package(part.__module__)
            packages.add(package)
            named = inspect.getclosurevars(part)
            pending += named.nonlocals.values()
            if package in own:
                pending += named.globals.values()
                packages.update(map(top_package, imported(Path(part.__code__.co_filename))))
        else:
            kind = part if isinstance(part, type) else type(part)
            packages.update(top_package(base.__module__) for base in kind.__mro__)
    return packages.difference(sys.stdlib_module_names)
