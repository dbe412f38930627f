"""A training instance and the settings that instances are drawn with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from benchrunner import RequestError
from benchrunner.engine import Frame
from benchrunner_bert.pretraining.objectives import named


@final
@dataclass(frozen=True)
class InstanceSettings:
    """What instances are to be like. The defaults are the paper's."""

    objective: str = "mlm+nsp"
    """One of `objectives.OBJECTIVES`."""
    length: int = 128
    """The most tokens, special ones included."""
    chosen: float = 0.15
    """The share of tokens that are predicted."""
    masking: tuple[float, float, float] = (0.8, 0.1, 0.1)
    """What becomes of them: [MASK], a random token, the same token."""
    short: float = 0.1
    """The share of instances that aim at a random shorter length."""
    max_predictions: int | None = None
    """The released code has 20 at length 128; 15% are hardly ever more."""

    def __post_init__(self) -> None:
        named(self.objective)
        if self.length < 5:
            raise RequestError(f"A sequence holds three special tokens and two others at least: not {self.length}.")
        for name in ("chosen", "short"):
            if not 0 <= getattr(self, name) <= 1:
                raise RequestError(f"{name} is a share from 0 to 1, not {getattr(self, name)}.")
        if min(self.masking) < 0 or not math.isclose(sum(self.masking), 1.0, abs_tol=1e-9):
            raise RequestError(f"The three rates of masking add up to 1 (100%), unlike {self.masking}.")
        if self.max_predictions is not None and self.max_predictions < 1:
            raise RequestError(f"At least one token is predicted: max_predictions is {self.max_predictions}.")


@final
@dataclass(frozen=True)
class Instance:
    """One sequence and what is to be predicted in it."""

    tokens: np.ndarray
    """int32 (n,)"""
    segments: np.ndarray
    """int8 (n,)"""
    positions: np.ndarray
    """int64 (k,): the tokens whose states predict"""
    labels: np.ndarray
    """int32 (k,): the tokens that stood there; for the left-to-right objective those that follow"""
    is_next: int
    """1 where B follows A, 0 where it does not, -1 where there is no B."""


def assembled(frame: Frame, first: np.ndarray, second: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """[CLS] A [SEP] or [CLS] A [SEP] B [SEP], and the segments; `Frame.join` does the same for many at once."""
    before, between, after = (np.array(one, np.int32) for one in (frame.before, frame.between, frame.after))
    tokens = np.concatenate([before, first, after] if second is None else [before, first, between, second, after])
    segments = np.full(len(tokens), frame.segments[0], dtype=np.int8)
    if second is not None:
        segments[len(tokens) - len(second) - len(after) :] = frame.segments[1]
    return tokens, segments
