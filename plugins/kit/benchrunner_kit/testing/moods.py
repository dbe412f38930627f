"""Made-up sentences for tests, and the problem that they are labelled for."""

from __future__ import annotations

import random

from benchrunner import Classify

MOOD = Classify(("glad", "sad"))
"""The problem of `sentences`: is a text glad or sad?"""

_MOODS = {"glad": ("sunny", "merry", "bright"), "sad": ("rainy", "gloomy", "bleak")}
_FILLERS = ("the", "day", "was", "walk", "by", "river", "we", "had", "a")


def sentences(count: int, *, seed: int = 0, shortest: int = 3, longest: int = 10) -> dict[str, list[str]]:
    """Make up sentences: the columns `a`, texts, and `label`, glad or sad by one word of the text.

    The sentences have `shortest` to `longest` words. The same seed gives the same sentences.
    """
    draw = random.Random(seed)
    labels = [draw.choice(MOOD.labels) for _ in range(count)]
    texts = []
    for label in labels:
        words = draw.choices(_FILLERS, k=draw.randint(shortest - 1, longest - 1))
        words.insert(draw.randrange(len(words)), draw.choice(_MOODS[label]))
        texts.append(" ".join(words))
    return {"a": texts, "label": labels}
