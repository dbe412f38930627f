"""Draw training instances from a token store.

An instance depends on (seed, index) alone, so that any number of processes can share the work and get the same
instances. The objective decides only what is predicted: with the same input, all objectives see the same text.

Devlin et al. 2019, A.2: an instance has two spans A and B of whole sentences (the input `pairs`). With probability 0.5,
B follows A; otherwise B comes from another document. One instance in ten aims at a random shorter length. A pair that
is too long loses tokens from the longer span, each from its front or its back with probability 0.5. No span crosses
the end of a document. One rule is ours: of a sentence that is too long for a sequence, any stretch can be read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchrunner.engine import Frame, randomness
from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.inputs import INPUTS
from benchrunner_bert.pretraining.instances.instance import Instance, assembled
from benchrunner_bert.pretraining.instances.masking import Masking
from benchrunner_bert.pretraining.instances.places import Places
from benchrunner_bert.pretraining.objectives import OBJECTIVES
from benchrunner_bert.pretraining.settings import Settings


class _Span(NamedTuple):
    """Tokens of whole sentences, numbers `first` to `last` - 1; `without` may cut off some at the ends."""

    first: int
    last: int
    """The first token after the span."""
    is_single: bool
    """Whether the span is one sentence."""

    @property
    def tokens(self) -> int:
        return self.last - self.first

    def without(self, loss: int, draw: np.random.Generator) -> _Span:
        """Remove `loss` tokens.

        In a span of several sentences, each token is removed from the front or the back with probability 0.5, so the
        middle stays; other spans contain the tokens at the ends. In a single long sentence the ends would then never
        be read, so every stretch is equally likely to stay.
        """
        front = int(draw.integers(loss + 1) if self.is_single else draw.binomial(loss, 0.5))
        return self._replace(first=self.first + front, last=self.last - loss + front)


class Instances:
    """The instances of a token store at one length. Their number is not limited: later epochs draw them differently."""

    def __init__(self, store: TokenStore, frame: Frame, masking: Masking, settings: Settings, seed: int) -> None:
        self._store = store
        self._settings = settings
        self._seed = seed
        self._objective = OBJECTIVES[settings.objective]
        self._input = INPUTS[settings.input]
        self._frame = frame if self._input.special_tokens else Frame((), (), (), unknown=frame.unknown)
        self._room = settings.length - self._frame.size(pair=self._input.pairs)
        """Most tokens of a sequence, special tokens not included"""
        self._masking = masking
        self._places = Places(store, self._room, pairs=self._input.pairs)
        self._key = randomness.derived(seed, "instances")

    def make(self, index: int) -> Instance:
        """Draw the instance of an index."""
        draw = np.random.Generator(np.random.SFC64(randomness.derived(self._seed, "instance", index)))
        place = self._places.at(index, self._key)
        if not self._input.pairs:
            return self._with_labels(self._stretch(place, draw), None, -1, draw)
        first, second, is_next = self._pair(place, draw)
        return self._with_labels(first, second, is_next if self._objective.next_sentence else -1, draw)

    def _target(self, least: int, draw: np.random.Generator) -> int:
        """Draw the number of tokens to aim at, special tokens not included."""
        if draw.random() < self._settings.short:
            return int(draw.integers(least, self._room + 1))
        return self._room

    def _stretch(self, place: int, draw: np.random.Generator) -> np.ndarray:
        least = 1 if self._input.special_tokens else 2  # a token alone has no neighbour to predict
        target = self._target(least, draw)
        document = self._places.document(place)
        first = self._places.token(place, document, target, draw.random())
        end = int(self._store.sentence_starts[self._store.document_starts[document + 1]])
        return self._store.read(first, min(first + target, end))

    def _pair(self, place: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
        target = self._target(2, draw)
        document = self._places.document(place)
        last = int(self._store.document_starts[document + 1])
        # A starts before the last sentence, so that a sentence can follow. The same holds where B comes from another
        # document: nothing in A may tell which of the two cases it is.
        begin = min(self._places.sentence(place, document, target, draw.random()), last - 2)
        stop = max(self._stop(document, begin, target), begin + 2)
        middle = begin + int(draw.integers(1, stop - begin))
        first = self._span(begin, middle)
        second = self._span(middle, stop)
        is_next = int(draw.random() < 0.5)
        if not is_next:
            second = self._random_span(document, max(1, target - first.tokens), draw)
        first, second = self._truncated(first, second, draw)
        return self._store.read(first.first, first.last), self._store.read(second.first, second.last), is_next

    def _random_span(self, document: int, target: int, draw: np.random.Generator) -> _Span:
        """Draw sentences of another document, starting at any but its first: only those could follow another span."""
        by_length = self._settings.other_documents == "length"
        source = self._places.elsewhere(document, draw.random(), by_length=by_length)
        begin, end = self._store.document_starts[source : source + 2].tolist()
        sentence = int(draw.integers(begin + 1, end))
        return self._span(sentence, self._stop(source, sentence, target))

    def _span(self, sentence: int, stop: int) -> _Span:
        starts = self._store.sentence_starts
        return _Span(int(starts[sentence]), int(starts[stop]), stop - sentence == 1)

    def _truncated(self, first: _Span, second: _Span, draw: np.random.Generator) -> tuple[_Span, _Span]:
        """Remove tokens from the longer span, or from B where the spans are equal, until both fit."""
        excess = max(0, first.tokens + second.tokens - self._room)
        from_longer = min(excess, abs(first.tokens - second.tokens))
        rest = excess - from_longer
        loss_of_first = rest // 2
        loss_of_second = rest - rest // 2
        if first.tokens > second.tokens:
            loss_of_first += from_longer
        else:
            loss_of_second += from_longer
        shorter_first = first.without(loss_of_first, draw)
        return shorter_first, second.without(loss_of_second, draw)

    def _stop(self, document: int, sentence: int, target: int) -> int:
        """Give the sentence after a span that starts at `sentence` and reaches the target or the document's end."""
        end = int(self._store.document_starts[document + 1])
        starts = self._store.sentence_starts
        # Every sentence has at least one token, so the span has at most `target` sentences.
        nearby = starts[sentence + 1 : min(end, sentence + target) + 1]
        sentences = 1 + int(nearby.searchsorted(starts[sentence] + target, "left"))
        return min(sentence + sentences, end)

    def _with_labels(
        self, first: np.ndarray, second: np.ndarray | None, is_next: int, draw: np.random.Generator
    ) -> Instance:
        tokens, segments = assembled(self._frame, first, second)
        if self._objective.direction == "left-to-right":
            return Instance(tokens, segments, np.arange(len(tokens) - 1), tokens[1:].copy(), is_next)
        positions, labels = self._masking.apply(tokens, draw)
        return Instance(tokens, segments, positions, labels, is_next)
