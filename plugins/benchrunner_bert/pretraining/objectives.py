"""Objectives of pre-training: what a model learns to predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchrunner_bert.configuration import Direction


@dataclass(frozen=True)
class Objective:
    """A row of the table of objectives."""

    name: str
    about: str
    """What is predicted, in a few words."""
    architecture: str
    """Class name in transformers of a BERT with the heads of this objective."""
    direction: Direction = "both"
    """Where attention looks. A model that predicts the next token must not see it."""
    next_sentence: bool = False
    """Whether the model also predicts if the second span follows the first."""

    @property
    def is_masked(self) -> bool:
        """Whether the model predicts masked tokens; otherwise it predicts every token from those before it."""
        return self.direction == "both"


_ROWS = (
    Objective("mlm+nsp", "masked tokens and next sentences", "BertForPreTraining", next_sentence=True),
    Objective("mlm", "masked tokens alone", "BertForMaskedLM"),
    Objective("ltr", "the next token, seeing only those before it", "BertLMHeadModel", direction="left-to-right"),
)

OBJECTIVES: Mapping[str, Objective] = {objective.name: objective for objective in _ROWS}
"""Names -> objectives of a BERT."""
