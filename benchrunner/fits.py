"""What was asked: a fit and a prediction, each with an identity that is a hash of everything that can change it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchrunner.recipes import Recipe

LATER_FIELDS = ("sample",)
"""Recipe fields that were added after fits had been made. At its default such a field does not enter the identity, so
that fits which were made before keep theirs."""


def identity(description: Mapping[str, Any]) -> str:
    """A short hash of a JSON description, whatever the order of its keys."""
    text = json.dumps(description, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Fit:
    """One backbone fitted to one task's training data in one way.

    The identity covers what training can see. Names are for people: the same weights under another path and the
    same rows from another source are the same fit.
    """

    task: str
    backbone: str
    """Empty for a method that needs none."""
    method: str
    recipe: Recipe
    seed: int
    data: str
    """The fingerprint of the training rows."""
    problem: Mapping[str, Any]
    revision: str
    """The backbone's."""
    suppliers: Mapping[str, str]
    """The plugins whose code had a part in it -> their versions."""

    @property
    def id(self) -> str:
        seen = {name: value for name, value in self.as_dict().items() if name not in ("task", "backbone")}
        return identity(seen)

    def as_dict(self) -> dict[str, Any]:
        """Give the fit as JSON, the content of `fit.json`, without `LATER_FIELDS` of the recipe at their defaults."""
        recipe, defaults = self.recipe.as_dict(), Recipe()
        for name in LATER_FIELDS:
            if recipe[name] == getattr(defaults, name):
                del recipe[name]
        return {**dataclasses.asdict(self), "recipe": recipe}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Fit:
        """Make a fit from what `as_dict` gives; recipe fields that are not there have their defaults."""
        return cls(**{**data, "recipe": Recipe(**data["recipe"])})


@dataclass(frozen=True)
class Prediction:
    """A fit's answers to the rows of one split."""

    fit: str
    """The fit's id."""
    task: str
    """Whose metrics score them: the same fit may be two tasks'."""
    split: str
    data: str
    """The fingerprint of the rows: other questions, or other labels, are another prediction."""
    settings: Mapping[str, Any]
    """What decoding was told, such as a threshold that was tuned on dev."""

    @property
    def id(self) -> str:
        return identity(dataclasses.asdict(self))
