"""Instances of corpora in which every token tells its place, and what they were before masking."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
from pretraining_texts import CLS, FIRST, SEP, UNK, Documents, numbered
from scipy import stats

from benchrunner.engine import Frame
from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.instances.instance import Instance
from benchrunner_bert.pretraining.instances.instances import Instances
from benchrunner_bert.pretraining.instances.masking import Masking
from benchrunner_bert.pretraining.settings import Settings

FRAME = Frame(before=(CLS,), between=(SEP,), after=(SEP,), unknown=UNK)
LEAST = 1e-4
"""The seeds are fixed: a smaller p would be a fault, not bad luck."""


def instances(store: TokenStore, *, seed: int = 3, **changes: Any) -> Instances:
    settings = Settings(**changes)
    return Instances(store, FRAME, Masking(store.vocabulary, settings), settings, seed)


def made(maker: Instances, count: int) -> list[Instance]:
    return [maker.make(index) for index in range(count)]


def original(instance: Instance) -> np.ndarray:
    """The tokens as they were before any was replaced."""
    tokens = instance.tokens.copy()
    tokens[instance.positions] = instance.labels
    return tokens


def spans(tokens: np.ndarray) -> list[list[int]]:
    """The places in the corpus of each span's tokens."""
    assert tokens[0] == CLS and tokens[-1] == SEP
    ends = np.flatnonzero(tokens == SEP)
    return [(tokens[start + 1 : end] - FIRST).tolist() for start, end in itertools.pairwise([0, *ends])]


def homes(documents: Documents) -> np.ndarray:
    """The document of each token."""
    return np.repeat(np.arange(len(documents)), [sum(sentences) for sentences in documents])


def large_store(folder: Path) -> TokenStore:
    """Forty documents of 500 sentences of a token each: what is aimed at is what comes out."""
    return numbered(folder, [[1] * 500] * 40)


def pooled(seen: np.ndarray, expected: np.ndarray) -> float:
    """The p of a chi-square test, cells that expect less than five taken together."""
    small = expected < 5
    if small.any():
        seen = np.append(seen[~small], seen[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
    return float(stats.chisquare(seen, expected).pvalue) if len(seen) > 1 else float((seen == expected).all())
