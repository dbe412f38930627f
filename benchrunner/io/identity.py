"""Identities: values described as JSON, and the hash that makes an id of a description."""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import inspect
import json
import re
import types
from collections.abc import Mapping, Set
from pathlib import PurePath
from typing import Any

from benchrunner.io.json_form import as_json


def identity(description: Any) -> str:
    """Hash a value, as `as_json` gives it, to 16 hexadecimal digits; the order of keys does not matter."""
    text = json.dumps(as_json(description), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def description_of(value: Any) -> Any:
    """Describe a value as JSON for an identity: fields of dataclasses, functions by name, with what they are bound to.

    Of an object of another class, only the name of its class is known.
    """
    if isinstance(value, bytes | PurePath | enum.Enum | re.Pattern):
        return [class_name(type(value)), repr(value)]
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple):
        return [description_of(inner) for inner in value]
    if isinstance(value, Mapping):
        return {str(key): description_of(inner) for key, inner in value.items()}
    if isinstance(value, Set):
        return sorted((description_of(inner) for inner in value), key=repr)
    if hasattr(value, "tolist"):  # arrays
        return [class_name(type(value)), description_of(value.tolist())]
    if isinstance(value, functools.partial):
        return [description_of(value.func), description_of(value.args), description_of(value.keywords)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [part.name for part in dataclasses.fields(value) if part.compare]
        return {name: description_of(getattr(value, name)) for name in parts}
    if not isinstance(value, types.FunctionType):
        return class_name(value if isinstance(value, type) else type(value))
    bound = {}
    for name, inner in inspect.getclosurevars(value).nonlocals.items():
        if not callable(inner):  # a function may be bound to itself
            bound[name] = description_of(inner)
    return [class_name(value), bound]


def class_name(kind: type | types.FunctionType) -> str:
    """Return the whole name of a class or of a function."""
    return f"{kind.__module__}.{kind.__qualname__}"
