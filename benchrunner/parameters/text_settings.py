"""Settings from texts, as a command line gives them: `NAME=VALUE` to the fields of a dataclass."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from benchrunner.errors import RequestError, UnknownName, closest_names

T = TypeVar("T")

YES, NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")
"""Spellings of a setting that is true or false."""


def read_settings(kind: type[T], texts: Mapping[str, str], what: str = "option") -> T:
    """Build a settings dataclass from texts; fields that are not named keep their defaults.

    A field may be a str, int, float, bool, Path or Literal, each with or without `| None`. The field `max_retries` is
    written `max-retries` or `max_retries`. `what` says in errors what a field is, for example "executor option".
    """
    hints = typing.get_type_hints(kind)
    names = {field.name.replace("_", "-"): field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values = {}
    for name, text in texts.items():
        field = names.get(name.replace("_", "-"))
        if field is None:
            raise UnknownName(what, name, names)
        values[field] = _value(hints[field], text, f"The {what} {name}")
    return kind(**values)


def name_value_pairs(words: Iterable[str], option: str) -> dict[str, str]:
    """Split words NAME=VALUE; `option` is the command-line option that takes them and is named in errors."""
    pairs: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise RequestError(f"{option} takes NAME=VALUE, not '{word}'; put a value with blanks in quotes.")
        if name in pairs:
            raise RequestError(f"{option} names {name} twice.")
        pairs[name] = value
    return pairs


def _value(hint: Any, text: str, where: str) -> Any:
    """Read a text as a value of a type; a `RequestError` that says what was expected."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        [hint] = [kind for kind in typing.get_args(hint) if kind is not types.NoneType]
    if typing.get_origin(hint) is typing.Literal:
        choices = typing.get_args(hint)
        if text in choices:
            return text
        close = closest_names(text, choices)
        advice = f"Did you mean {' or '.join(close)}?" if close else f"Choose from {', '.join(choices)}."
        raise RequestError(f"{where}: there is no choice '{text}'. {advice}")
    if hint is bool:
        if text.casefold() not in YES + NO:
            raise RequestError(f"{where}: '{text}' is neither yes nor no.")
        return text.casefold() in YES
    if hint in (int, float):
        try:
            return hint(text)
        except ValueError:
            raise RequestError(f"{where}: '{text}' is not {'a whole number' if hint is int else 'a number'}.") from None
    return Path(text) if hint is Path else text
