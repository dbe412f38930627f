"""Identities: values that differ in anything have other ids."""

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchrunner.io.identity import description_of, identity


class Tone(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Weights:
    values: Any


def bound(value: Any) -> Callable[[], Any]:
    return lambda: value


PAIRS = {
    "sets": (frozenset({"a", "b"}), frozenset({"a", "c"})),
    "sets in functions": (bound({1, 2}), bound({1, 3})),
    "mappings in functions": (bound({"a": 1}), bound({"a": 2})),
    "arrays": (np.array([1, 2]), np.array([1, 3])),
    "numbers of numpy": (np.int64(1), np.int64(2)),
    "bytes": (b"a", b"b"),
    "paths": (Path("a"), Path("b")),
    "members": (Tone.LOW, Tone.HIGH),
    "a member and its number": (Tone.LOW, 1),
    "patterns": (re.compile("a"), re.compile("a", re.IGNORECASE)),
    "partial calls": (partial(int, base=2), partial(int, base=3)),
    "classes": (int, float),
}


@pytest.mark.parametrize("name", PAIRS)
def test_values_that_differ_have_other_ids(name: str) -> None:
    one, other = (identity(description_of(Weights(value))) for value in PAIRS[name])
    assert one != other


def test_equal_values_have_one_id_in_any_order() -> None:
    sets = [frozenset(letters) for letters in ("abcdefgh", "hgfedcba")]
    assert description_of(sets[0]) == description_of(sets[1]) == list("abcdefgh")
    assert identity({"a": 1, "b": 2}) == identity({"b": 2, "a": 1})
