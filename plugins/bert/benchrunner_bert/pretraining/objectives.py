"""Objectives of pre-training: what a BERT learns to predict."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from benchrunner import UnknownName
from benchrunner_bert.configuration import Configuration


@dataclass(frozen=True)
class Objective:
    """A row of the table of objectives."""

    name: str
    about: str
    """What is predicted, in a few words."""
    architecture: str
    """Class name in transformers of a BERT with the heads of this objective."""
    next_sentence: bool
    """Whether the model also predicts if the second span follows the first."""
    left_only: bool
    """Whether attention looks left only, so that the model cannot see the next token."""

    def configured(self, config: Configuration) -> Configuration:
        """Give the configuration with the direction of attention that this objective needs."""
        return dataclasses.replace(config, direction="left-to-right" if self.left_only else "both")


_ROWS = (
    Objective("mlm+nsp", "masked tokens and next sentences", "BertForPreTraining", next_sentence=True, left_only=False),
    Objective("mlm", "masked tokens alone", "BertForMaskedLM", next_sentence=False, left_only=False),
    Objective(
        "ltr", "the next token, seeing only those before it", "BertLMHeadModel", next_sentence=False, left_only=True
    ),
)

OBJECTIVES: Mapping[str, Objective] = {objective.name: objective for objective in _ROWS}
"""Names that `--objective` takes -> objectives."""


def named(name: str) -> Objective:
    """Find the objective of a name."""
    if name not in OBJECTIVES:
        raise UnknownName("objective", name, OBJECTIVES)
    return OBJECTIVES[name]
