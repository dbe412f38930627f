"""Classes and values of plugins that a .toml file names. A file from anybody must not import what it likes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from benchrunner import did_you_mean
from benchrunner.engine import decoding

Class = TypeVar("Class")


def plugin_class(name: str, base: type[Class], key: str) -> type[Class]:
    """Import the class `PACKAGE:Class`, derived from `base`, that a file names at a key.

    Only packages of installed plugins are imported. Raises a `decoding.Mistake` if there is no such class.
    """

    def is_derived(value: object) -> bool:
        return isinstance(value, type) and issubclass(value, base) and value is not base

    made: type[Class] = _imported(name, is_derived, f"class '{{}}' that is derived from {base.__name__}", key)
    return made


def plugin_value(name: str, kind: type[Class], key: str) -> Class:
    """Import the value `PACKAGE:NAME` of a class, which a file names at a key; else as `plugin_class`."""
    value: Class = _imported(name, lambda value: isinstance(value, kind), f"{kind.__name__} '{{}}'", key)
    return value


def _imported(name: str, is_wanted: Callable[[object], bool], wanted: str, key: str) -> Any:
    """Import what a name means; a `Mistake` if the package is no plugin's or has nothing wanted of this name."""
    import importlib.metadata  # loads slowly

    module_name, _, own_name = name.partition(":")
    installed = {point.module.partition(".")[0] for point in importlib.metadata.entry_points(group="benchrunner")}
    if module_name.partition(".")[0] not in installed:
        known = ", ".join(sorted(installed)) or "none"
        raise decoding.Mistake(f"no installed plugin has the package '{module_name}'. Installed: {known}.", key)
    try:
        module = importlib.import_module(module_name)
        value = getattr(module, own_name, None)  # a module may import its names when they are used
        if is_wanted(value):
            return value
        # Every public name is imported for the advice alone.
        offered = [own for own in {*vars(module), *getattr(module, "__all__", ())} if is_wanted(getattr(module, own))]
    except Exception as error:  # whatever the plugin's module raises
        reason = f"{type(error).__name__}: {error}"
        raise decoding.Mistake(f"the module of '{name}' cannot be imported: {reason}.", key) from None
    advice = did_you_mean(own_name, offered)
    raise decoding.Mistake(f"{module_name} has no {wanted.format(own_name)}.{advice}", key)
