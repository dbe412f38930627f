"""Compare a request with that of its folder: a run is continued, or taken as finished, only if they agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchrunner import RequestError, quoted
from benchrunner.engine import decoding
from benchrunner_bert.pretraining.settings import TO_COME, Settings


def check_same(before: Mapping[str, Any], now: Mapping[str, Any], where: Path) -> None:
    """Raise a `RequestError` that lists each difference between the facts in a file and those of this request."""
    if differences := list(_differences(before, decoding.as_json(now))):
        listed = "\n".join(f"  - {difference}" for difference in differences)
        raise RequestError(
            f"{where} belongs to another request:\n{listed}\nAsk for the same as before, or choose another folder."
        )


def with_steps_to_come(facts: Mapping[str, Any], settings: Settings, done: int) -> Mapping[str, Any]:
    """Give the facts of a checkpoint with the steps to come of these settings, if they ask for its `done` steps too.

    So a run with the schedule trapezoid can be cut short or made longer while its rate is constant: what it has done is
    what a run that began with the new number of steps would have done.
    """
    then: Mapping[str, Any] = facts["settings"]
    if not settings.took(done, {name: then[name] for name in TO_COME}):
        return facts
    to_come = {name: getattr(settings, name) for name in TO_COME}
    return {**facts, "settings": {**then, **to_come}}


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name, value in now.items():
        old = before.get(name)
        if isinstance(value, dict) and isinstance(old, dict):
            yield from _differences(old, {**dict.fromkeys(old), **value})
        elif isinstance(value, list) and isinstance(old, list) and len(value) == len(old):
            for old_item, item in zip(old, value, strict=True):
                if old_item != item:
                    yield _difference(name, old_item, item)
        elif old != value:
            yield _difference(name, old, value)


def _difference(name: str, old: Any, new: Any) -> str:
    return f"{name.replace('_', ' ')} {quoted(old, 80)}, now {quoted(new, 80)}"
