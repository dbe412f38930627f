"""What a BERT learns from in pre-training: the heads, the losses, and the table of objectives."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchrunner import UnknownName
from benchrunner_bert.configuration import Configuration

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Objective:
    """A row of the table."""

    name: str
    about: str
    architecture: str
    """What transformers calls a BERT with these heads."""
    next_sentence: bool
    """Whether the second span is to be told from a random one."""
    left_only: bool
    """Whether attention looks left only, so that the next token is not seen."""

    def configured(self, config: Configuration) -> Configuration:
        """The configuration with the attention that this objective needs."""
        return dataclasses.replace(config, direction="left-to-right" if self.left_only else "both")


OBJECTIVES: Mapping[str, Objective] = {
    one.name: one
    for one in (
        Objective("mlm+nsp", "masked tokens and next sentences", "BertForPreTraining", True, False),
        Objective("mlm", "masked tokens alone", "BertForMaskedLM", False, False),
        Objective("ltr", "the next token, seeing only those before it", "BertLMHeadModel", False, True),
    )
}
"""By the names that `--objective` takes."""


def named(name: str) -> Objective:
    if name not in OBJECTIVES:
        raise UnknownName("objective", name, OBJECTIVES)
    return OBJECTIVES[name]
