"""Hooks of the plugins that tests install for worker processes: the inline task and the tiny backbone."""

from collections.abc import Iterator

from benchrunner import Task, hookimpl
from benchrunner.engine import BackboneFamily


@hookimpl
def register_tasks() -> Iterator[Task]:
    from inline import mood

    yield mood()


@hookimpl
def register_backbones() -> Iterator[BackboneFamily]:
    from benchrunner_kit.testing import tiny_family

    yield tiny_family()
