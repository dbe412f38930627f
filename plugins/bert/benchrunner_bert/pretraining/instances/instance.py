"""A training instance, and the settings that instances are drawn with."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Self, final

import numpy as np

from benchrunner import RequestError
from benchrunner.engine import Frame
from benchrunner_bert.pretraining import inputs, objectives
from benchrunner_bert.pretraining.settings import Settings, check_drawing, check_masking


@final
@dataclass(frozen=True)
class InstanceSettings:
    """Settings of the instances of one length. The defaults are the paper's."""

    objective: str = "mlm+nsp"
    """Name of one of `objectives.OBJECTIVES`."""
    length: int = 128
    """Most tokens of a sequence, special tokens included."""
    chosen: float = 0.15
    """Share of tokens that are predicted."""
    masking: tuple[float, float, float] = (0.8, 0.1, 0.1)
    """Shares of the predicted tokens that are replaced by [MASK], replaced by a random token, or left as they are."""
    short: float = 0.1
    """Share of instances that aim at a random shorter length."""
    random_tokens: str = "ordinary"
    """Tokens that random replacements are drawn from: one of `settings.RANDOM_TOKENS`."""
    predict_unknown: bool = False
    """Whether [UNK] in the text can be a predicted token; [CLS] and [SEP] never are."""
    other_documents: str = "length"
    """How the document of a span that does not follow is drawn: one of `settings.OTHER_DOCUMENTS`."""
    input: str = "pairs"
    """Name of one of `inputs.INPUTS`."""

    @classmethod
    def of(cls, settings: Settings, length: int) -> Self:
        """Give the settings of the instances that have a length in a pre-training."""
        shared = {field.name for field in dataclasses.fields(cls)} - {"length"}
        return cls(length=length, **{name: getattr(settings, name) for name in shared})

    def __post_init__(self) -> None:
        objective, given = objectives.named(self.objective), inputs.named(self.input)
        if objective.next_sentence and not given.pairs:
            raise RequestError(
                f"The objective {objective.name} predicts whether the second of two spans follows the first: it needs "
                f"--input pairs, not {given.name}. Without next sentences, the objective is mlm."
            )
        if self.length < 5:
            raise RequestError(f"A sequence holds three special tokens and two others at least: not {self.length}.")
        for name in ("chosen", "short"):
            if not 0 <= getattr(self, name) <= 1:
                raise RequestError(f"{name} is a share from 0 to 1, not {getattr(self, name)}.")
        check_masking(self.masking)
        check_drawing(self.random_tokens, self.other_documents)


@final
@dataclass(frozen=True)
class Instance:
    """A sequence, and what is to be predicted in it."""

    tokens: np.ndarray
    """int32 (n,)"""
    segments: np.ndarray
    """int8 (n,)"""
    positions: np.ndarray
    """int64 (k,): indices of the tokens whose states predict"""
    labels: np.ndarray
    """int32 (k,): the original tokens at these positions; with `ltr` the tokens after them, with `rtl` before them"""
    is_next: int
    """1 where B follows A, 0 where it does not, -1 where the objective has no next sentences."""


def assembled(frame: Frame, first: np.ndarray, second: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Give tokens and segments of [CLS] A [SEP] or [CLS] A [SEP] B [SEP]; `Frame.join` does it for many sequences."""
    before, between, after = (np.array(ids, np.int32) for ids in (frame.before, frame.between, frame.after))
    tokens = np.concatenate([before, first, after] if second is None else [before, first, between, second, after])
    segments = np.full(len(tokens), frame.segments[0], dtype=np.int8)
    if second is not None:
        segments[len(tokens) - len(second) - len(after) :] = frame.segments[1]
    return tokens, segments
