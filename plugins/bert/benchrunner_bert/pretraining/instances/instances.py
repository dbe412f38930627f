"""Training instances, each made from (seed, index) alone: any process of any number makes its share and the same.

Devlin et al. 2019, A.2: two spans A and B of whole sentences; half of the time B follows A, else it comes from another
document; one instance in ten aims at a random shorter length; a pair that is too long loses tokens from the front or
the back of the longer span, a coin toss each. Neither span crosses a document. Not of the paper: where a sentence alone
is too long, any stretch of it may be what is read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchrunner.engine import Frame, derived
from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.pretraining.instances.instance import Instance, InstanceSettings, assembled
from benchrunner_bert.pretraining.instances.masking import Masking
from benchrunner_bert.pretraining.instances.places import Places
from benchrunner_bert.pretraining.objectives import named


class _Span(NamedTuple):
    """Tokens of whole sentences."""

    first: int
    last: int
    """Not in it."""
    alone: bool
    """Whether it is a single sentence."""

    @property
    def tokens(self) -> int:
        return self.last - self.first

    def without(self, loss: int, draw: np.random.Generator) -> _Span:
        """Fewer tokens, each taken from its front or its back by a coin toss.

        Tosses leave the middle. Other spans bring what a span of several sentences loses so; of a single long sentence
        nobody would ever read the ends, so any stretch of it stays, one as likely as another.
        """
        front = int(draw.integers(loss + 1) if self.alone else draw.binomial(loss, 0.5))
        return self._replace(first=self.first + front, last=self.last - loss + front)


class Instances:
    """The instances of one store, as many as anybody asks for."""

    def __init__(
        self, store: TokenStore, frame: Frame, vocabulary: Vocabulary, settings: InstanceSettings, seed: int
    ) -> None:
        self._store, self._frame, self._settings, self._seed = store, frame, settings, seed
        self._objective = named(settings.objective)
        self._room = settings.length - frame.size(pair=self._objective.next_sentence)
        self._masking = Masking(vocabulary, settings.chosen, settings.masking, settings.max_predictions)
        self._anchors = Places(store, self._room, pairs=self._objective.next_sentence)
        self._key = derived(seed, "instances")

    @property
    def epoch(self) -> int:
        """Instances after which every place of the corpus was begun at once."""
        return len(self._anchors)

    @property
    def left_out(self) -> int:
        """Documents that no instance comes from: those of a single sentence, where next sentences are wanted."""
        return self._anchors.left_out

    def make(self, index: int) -> Instance:
        draw = np.random.Generator(np.random.SFC64(derived(self._seed, "instance", index)))
        place = self._anchors.at(index, self._key)
        if not self._objective.next_sentence:
            return self._finished(self._single(place, draw), None, -1, draw)
        first, second, is_next = self._pair(place, draw)
        return self._finished(first, second, is_next, draw)

    def _target(self, least: int, draw: np.random.Generator) -> int:
        """Tokens that are aimed at, special ones left out."""
        if draw.random() < self._settings.short:
            return int(draw.integers(least, self._room + 1))
        return self._room

    def _single(self, place: int, draw: np.random.Generator) -> np.ndarray:
        target, document = self._target(1, draw), self._anchors.document(place)
        first = self._anchors.token(place, document, target, draw.random())
        end = int(self._store.sentence_starts[self._store.document_starts[document + 1]])
        return self._store.read(first, min(first + target, end))

    def _pair(self, place: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
        target, document = self._target(2, draw), self._anchors.document(place)
        last = int(self._store.document_starts[document + 1])
        # At least two sentences, so that one can follow the other; which coin falls must not show in A.
        begin = min(self._anchors.sentence(place, document, target, draw.random()), last - 2)
        stop = max(self._stop(document, begin, target), begin + 2)
        middle = begin + int(draw.integers(1, stop - begin))
        first, second = self._span(begin, middle), self._span(middle, stop)
        is_next = int(draw.random() < 0.5)
        if not is_next:
            second = self._random_span(document, max(1, target - first.tokens), draw)
        first, second = self._truncated(first, second, draw)
        return self._store.read(*first[:2]), self._store.read(*second[:2]), is_next

    def _random_span(self, document: int, target: int, draw: np.random.Generator) -> _Span:
        """Sentences of another document, from one that could follow another: not its first."""
        other = self._anchors.elsewhere(document, draw.random())
        begin, end = (int(one) for one in self._store.document_starts[other : other + 2])
        sentence = int(draw.integers(begin + 1, end))
        return self._span(sentence, self._stop(other, sentence, target))

    def _span(self, sentence: int, stop: int) -> _Span:
        starts = self._store.sentence_starts
        return _Span(int(starts[sentence]), int(starts[stop]), stop - sentence == 1)

    def _truncated(self, first: _Span, second: _Span, draw: np.random.Generator) -> list[_Span]:
        """Without tokens of the longer span, of B where they are equal, until both fit."""
        excess = max(0, first.tokens + second.tokens - self._room)
        from_longer = min(excess, abs(first.tokens - second.tokens))
        rest = excess - from_longer
        is_first = first.tokens > second.tokens
        losses = rest // 2 + from_longer * is_first, (rest + 1) // 2 + from_longer * (not is_first)
        return [span.without(loss, draw) for span, loss in zip((first, second), losses, strict=True)]

    def _stop(self, document: int, sentence: int, target: int) -> int:
        """The sentence behind the last one of a span: it reaches the target, or the document ends."""
        end = int(self._store.document_starts[document + 1])
        starts = self._store.sentence_starts
        # A sentence has a token at least, so no more of them can be needed.
        nearby = starts[sentence + 1 : min(end, sentence + target) + 1]
        return min(sentence + 1 + int(nearby.searchsorted(starts[sentence] + target, "left")), end)

    def _finished(
        self, first: np.ndarray, second: np.ndarray | None, is_next: int, draw: np.random.Generator
    ) -> Instance:
        tokens, segments = assembled(self._frame, first, second)
        if self._objective.left_only:
            return Instance(tokens, segments, np.arange(len(tokens) - 1), tokens[1:].copy(), is_next)
        positions, labels = self._masking.apply(tokens, draw)
        return Instance(tokens, segments, positions, labels, is_next)
