"""Compares the scores that a folder claims with those that were computed again, in sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from benchrunner import quoted

TOLERANCE = 1e-9
"""Largest difference of equal figures: machines may differ in the last digits of a sum."""


def result_differences(claimed: Mapping[str, Any], computed: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each difference between a claimed result and the same result computed again."""
    yield from value_differences(_by_place(claimed), _by_place(computed), ())


def count_figures(part: Mapping[str, Any]) -> int:
    """Return how many scores, means and deviations a result has."""
    return _count(_by_place(part))


def _count(value: Any) -> int:
    if isinstance(value, Mapping):
        return sum(map(_count, value.values()))
    if isinstance(value, list):
        return sum(map(_count, value))
    return int(isinstance(value, float))


def _by_place(part: Mapping[str, Any]) -> dict[str, Any]:
    """Map a description of each computed figure of a result, for sentences about differences, to the figure."""
    places: dict[str, Any] = {}
    counts = Counter[str]()
    for cell in part["cells"]:
        place = f"{cell['system']} on {cell['task']} ({cell['method']})"
        figures: dict[str, Any] = {}
        for score in cell["scores"]:
            term = f"{score['split']} {score['metric']}"
            figures[term] = {key: score[key] for key in ("best", "mean", "deviation", "restarts")}
        counts[place] += 1
        places[place if counts[place] == 1 else f"{place}, cell {counts[place]}"] = {
            "selected fit": cell["selected"],
            "selected recipe": cell["chosen"],
            **figures,
            "flags": cell["flags"],
        }
    for entry in part["majority"]:
        places[f"majority on {entry['task']}, {entry['split']} {entry['metric']}"] = entry["score"]
    for system, averages in part["averages"].items():
        places[f"averages of {system}"] = averages
    return places


def value_differences(claimed: Any, computed: Any, place: tuple[str, ...]) -> Iterator[str]:
    """Yield a sentence for each difference between two JSON values; figures are equal up to `TOLERANCE`."""
    if isinstance(claimed, Mapping) and isinstance(computed, Mapping):
        for name in dict.fromkeys((*claimed, *computed)):
            if name not in claimed or name not in computed:
                where = "not in the folder" if name not in claimed else "in the folder, but not computed here"
                yield f"{_place((*place, name))}: {where}."
            else:
                yield from value_differences(claimed[name], computed[name], (*place, name))
    elif isinstance(claimed, list) and isinstance(computed, list) and len(claimed) == len(computed):
        for number, (claim, value) in enumerate(zip(claimed, computed, strict=True), start=1):
            yield from value_differences(claim, value, (*place, f"number {number}"))
    elif not _equal(claimed, computed):
        yield f"{_place(place)}: {quoted(claimed)} in the folder, {quoted(computed)} computed here."


def _equal(claimed: Any, computed: Any) -> bool:
    if _is_number(claimed) and _is_number(computed):
        return math.isclose(claimed, computed, rel_tol=0.0, abs_tol=TOLERANCE)
    return type(claimed) is type(computed) and bool(claimed == computed)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _place(names: tuple[str, ...]) -> str:
    text = ", ".join(map(str, names))
    return text if text.isprintable() and len(text) < 300 else quoted(text, 300)
