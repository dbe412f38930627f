"""Classes of plugins that a .toml file names. A file from anybody must not import what it likes."""

from __future__ import annotations

from typing import TypeVar

from benchrunner import closest_names
from benchrunner.engine import decoding

Class = TypeVar("Class")


def plugin_class(name: str, base: type[Class], key: str) -> type[Class]:
    """Import the class `PACKAGE:Class`, derived from `base`, that a file names at a key.

    Only packages of installed plugins are imported. Raises a `decoding.Mistake` if there is no such class.
    """
    import importlib.metadata  # loads slowly

    module_name, _, class_name = name.partition(":")
    installed = {point.module.partition(".")[0] for point in importlib.metadata.entry_points(group="benchrunner")}
    if module_name.partition(".")[0] not in installed:
        known = ", ".join(sorted(installed)) or "none"
        raise decoding.Mistake(f"no installed plugin has the package '{module_name}'. Installed: {known}.", key)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever the plugin's module raises
        reason = f"{type(error).__name__}: {error}"
        raise decoding.Mistake(f"the module of '{name}' cannot be imported: {reason}.", key) from None
    classes = dict[str, type[Class]]()
    for own_name, value in vars(module).items():
        if isinstance(value, type) and issubclass(value, base) and value is not base:
            classes[own_name] = value
    if class_name not in classes:
        meant = closest_names(class_name, classes)
        advice = f" Did you mean {meant[0]}?" if meant else ""
        sentence = f"{module_name} has no class '{class_name}' that is derived from {base.__name__}.{advice}"
        raise decoding.Mistake(sentence, key)
    return classes[class_name]
