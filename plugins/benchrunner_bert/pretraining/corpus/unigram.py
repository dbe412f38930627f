"""The loss of guessing tokens by their frequency alone: a model that learnt anything has a lower one."""

from __future__ import annotations

import numpy as np

from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.settings import Settings

SAMPLE = 1 << 24
"""Most tokens that are counted, in blocks at equal distances."""
_BLOCK = 1 << 18


def unigram_loss(store: TokenStore, settings: Settings) -> float:
    """Return the entropy of the predicted tokens in nats: the mean loss of the best guess that reads no text."""
    blocks = min(-(-store.tokens // _BLOCK), SAMPLE // _BLOCK)
    counts = np.zeros(store.manifest.plan.vocabulary, dtype=np.int64)
    for number in range(blocks):
        first = (store.tokens - min(_BLOCK, store.tokens)) * number // max(1, blocks - 1)
        counts += np.bincount(store.read(first, min(first + _BLOCK, store.tokens)), minlength=len(counts))
    if not settings.predict_unknown:
        counts[store.vocabulary.unknown] = 0
    shares = counts[counts > 0] / max(1, counts.sum())
    return float(-(shares * np.log(shares)).sum())
