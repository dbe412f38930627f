"""Objectives of pre-training: what a model learns to predict."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from benchrunner import UnknownName
from benchrunner_bert.configuration import Configuration, Direction


@dataclass(frozen=True)
class Objective:
    """A row of the table of objectives."""

    name: str
    about: str
    """What is predicted, in a few words."""
    architecture: str | None
    """Class name in transformers of a BERT with the heads of this objective; None where transformers has none."""
    direction: Direction = "both"
    """Where attention looks. A model that predicts the next token must not see it."""
    next_sentence: bool = False
    """Whether the model also predicts if the second span follows the first."""

    @property
    def is_masked(self) -> bool:
        """Whether the model predicts masked tokens; otherwise it predicts every token from those on one side of it."""
        return self.direction == "both"

    def configured(self, config: Configuration) -> Configuration:
        """Give the configuration with the direction of attention that this objective needs."""
        return dataclasses.replace(config, direction=self.direction)


_ROWS = (
    Objective("mlm+nsp", "masked tokens and next sentences", "BertForPreTraining", next_sentence=True),
    Objective("mlm", "masked tokens alone", "BertForMaskedLM"),
    Objective("ltr", "the next token, seeing only those before it", "BertLMHeadModel", direction="left-to-right"),
    Objective("rtl", "the token before, seeing only those after it", None, direction="right-to-left"),
)

OBJECTIVES: Mapping[str, Objective] = {objective.name: objective for objective in _ROWS}
"""Names -> objectives of a BERT."""

TWO_MODELS = Objective(
    "ltr+rtl", "the next token and the token before, by two independent models", None, direction="left-to-right"
)
"""Objective of an ELMo. Its instances are those of `ltr`; the model from right to left reads them backwards."""


def named(name: str) -> Objective:
    """Find the objective of a name."""
    objectives = {**OBJECTIVES, TWO_MODELS.name: TWO_MODELS}
    if name not in objectives:
        raise UnknownName("objective", name, objectives)
    return objectives[name]
