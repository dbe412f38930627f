"""Instances that say who made them; processes import this module without DeepSpeed."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from benchrunner_bert.pretraining.instances.instance import Instance
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.feed import Feed


@dataclass(frozen=True)
class Numbered:
    """Instances whose tokens are their index and the number of their process; that of `broken` cannot be made."""

    broken: int = -1

    def make(self, index: int) -> Instance:
        if index == self.broken:
            raise OSError("the disk is gone")
        tokens = np.array([index, os.getpid()], dtype=np.int32)
        return Instance(tokens, np.zeros(2, np.int8), np.arange(1), tokens[:1], -1)


def feed(broken: int = -1) -> Feed:
    return Feed(Settings(batch_size=2, length=128, long_share=0), {128: Numbered(broken)})  # type: ignore[dict-item]
