"""A run goes on as it began, and is finished for the same request alone: with others it would be neither."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchrunner import RequestError


def plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON gives it back."""
    found: dict[str, Any] = json.loads(json.dumps(facts, default=dataclasses.asdict))
    return found


def check_same(begun: Mapping[str, Any], now: Mapping[str, Any], where: Path) -> None:
    """A `RequestError` that names each difference."""
    if different := list(_differences(begun, plain(now))):
        listed = "\n".join(f"  - {one}" for one in different)
        raise RequestError(
            f"{where} is of another run:\n{listed}\nGo on with what it was begun with, or choose another folder."
        )


def _differences(begun: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name, value in now.items():
        other = begun.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            yield from _differences(other, {**dict.fromkeys(other), **value})
        elif isinstance(value, list) and isinstance(other, list) and len(value) == len(other):
            yield from (
                f"{name.replace('_', ' ')} {_short(old)}, now {_short(new)}"
                for old, new in zip(other, value, strict=True)
                if old != new
            )
        elif other != value:
            yield f"{name.replace('_', ' ')} {_short(other)}, now {_short(value)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."
