"""Recipes of study files: options of a study as texts, such as `batch-size` -> `16,32`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from benchrunner import Recipe, RequestError, closest_names, did_you_mean
from benchrunner.results import Plugins, StudyOptions, planning

_BESIDE = ("method", "select_by", "start", "keep", "folds")
"""Options that a recipe does not have: systems and columns say them, or the command line."""


def _written(name: str) -> str:
    return name.replace("_", "-")


_FIELDS = Recipe().as_dict().keys()
"""Names of the options of which dev may select among several values."""


def read_recipe(texts: Mapping[str, str], where: str, plugins: Plugins) -> StudyOptions:
    """Read options from the texts of a recipe; `where` is named in errors."""
    values = dict[str, Any]()
    of_methods = {}
    options = {_written(name): own for name, own in StudyOptions.declared(plugins).items() if name not in _BESIDE}
    with planning.naming(where):
        for name, text in texts.items():
            own = options.get(name)
            if "." in name:
                of_methods[name] = text
            elif own is None:
                raise _unknown(name, options)
            elif own.name not in _FIELDS:
                values[own.name] = own.read(text, name)
            else:
                values[own.name] = own.read_values(text, name)
        return StudyOptions.named(values, of_methods, plugins)


def _unknown(name: str, options: Collection[str]) -> RequestError:
    """Return the error for a name that is none of the options of a recipe."""
    meant = did_you_mean(name, options)
    for own in closest_names(name, (*options, *_BESIDE))[:1]:
        if own in _BESIDE:
            meant = f" Did you mean {own}, which stands beside recipe, not in it?"
    return RequestError(
        f"a recipe has no '{name}'.{meant} It has: {', '.join(options)}, and parameters of methods, such as lora.rank."
    )
