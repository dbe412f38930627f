"""Compares documents of a folder with the same documents built anew, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from benchrunner import quoted

TOLERANCE = 1e-9
"""Largest difference of equal figures: machines may differ in the last digits of a sum."""
FIGURES = frozenset({"best", "mean", "deviation", "restarts", "majority", "scores", "answer", "figures"})
"""Keys of a document whose numbers are figures. All other numbers, such as those of recipes, must be the same."""
_ABSENT = object()


def count_figures(value: Any) -> int:
    """Return how many scores, means and deviations a JSON value has."""
    if isinstance(value, Mapping):
        return sum(map(count_figures, value.values()))
    if isinstance(value, list):
        return sum(map(count_figures, value))
    return int(isinstance(value, float))


def value_differences(claimed: Any, computed: Any, place: tuple[str, ...]) -> Iterator[str]:
    """Yield a sentence for each difference between two JSON values.

    Figures are equal up to `TOLERANCE`. Keys and entries of lists are compared in their order.
    """
    if isinstance(claimed, Mapping) and isinstance(computed, Mapping):
        yield from _object_differences(claimed, computed, place)
    elif _are_comparable(claimed, computed):
        yield from _list_differences(claimed, computed, place)
    elif not _equal(claimed, computed, is_figure=not FIGURES.isdisjoint(place)):
        yield f"{_place(place)}: {quoted(claimed)} in the folder, {quoted(computed)} computed here."


def _object_differences(
    claimed: Mapping[str, Any], computed: Mapping[str, Any], place: tuple[str, ...]
) -> Iterator[str]:
    for key in dict.fromkeys((*computed, *claimed)):
        yield from _entry_differences(claimed.get(key, _ABSENT), computed.get(key, _ABSENT), (*place, str(key)))
    if list(claimed) != list(computed) and claimed.keys() == computed.keys():
        yield f"{_place(place)}: the entries stand in another order."


def _list_differences(claimed: list[Any], computed: list[Any], place: tuple[str, ...]) -> Iterator[str]:
    """Yield the differences of two lists, entry by entry; an entry is named by what it is, or by its number."""
    for number, (claim, value) in enumerate(zip_longest(claimed, computed, fillvalue=_ABSENT), start=1):
        name = _name(claim) or _name(value)
        at_entry = (*place[:-1], name) if name else (*place, f"number {number}")  # a name says what the list holds
        is_exchanged = claim is not _ABSENT and value is not _ABSENT and _name(claim) != _name(value)
        if is_exchanged:
            yield f"{_place(at_entry)} stands in the folder, where {_name(value)} is expected."
        else:
            yield from _entry_differences(claim, value, at_entry)


def _entry_differences(claimed: Any, computed: Any, place: tuple[str, ...]) -> Iterator[str]:
    """Yield the differences of one entry of an object or a list, which may be absent from one of the two."""
    if claimed is _ABSENT:
        yield f"{_place(place)}: not in the folder."
    elif computed is _ABSENT:
        yield f"{_place(place)}: in the folder, but not computed here."
    else:
        yield from value_differences(claimed, computed, place)


def _are_comparable(claimed: Any, computed: Any) -> bool:
    """Return whether two values are lists whose entries can be told one by one."""
    if not isinstance(claimed, list) or not isinstance(computed, list):
        return False
    return len(claimed) == len(computed) or all(map(_name, (*claimed, *computed)))


def _name(value: Any) -> str:
    """Return the name of an entry of a list; empty if it has none."""
    if isinstance(value, Mapping):
        if "system" in value:
            return f"{value['system']} on {value.get('task')} ({value.get('method')})"
        if "metric" in value:
            return f"{value.get('split')} {value['metric']}"
    return ""


def _equal(claimed: Any, computed: Any, *, is_figure: bool) -> bool:
    if type(claimed) is not type(computed):
        return False
    if is_figure and isinstance(claimed, float):
        return math.isclose(claimed, computed, rel_tol=0.0, abs_tol=TOLERANCE)
    return bool(claimed == computed)


def _place(names: tuple[str, ...]) -> str:
    text = ", ".join(names)
    return text if text.isprintable() and len(text) < 300 else quoted(text, 300)
