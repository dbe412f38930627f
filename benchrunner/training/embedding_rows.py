"""Training of the embedding rows in use: a training set has few of the tokens of the vocabulary.

The result is that of training the whole table. A row that no training example uses has a gradient of zero. Adam does
not move it; weight decay alone shrinks it, by a factor that the schedule fixes in advance. Training therefore holds a
small table of the rows in use, without a dense gradient over the whole vocabulary and without its two moments, and the
other rows are multiplied once at the end.

Encoders see the ids of the tokenizer throughout. The embedding alone maps them to rows of the small table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from benchrunner.errors import PluginError
from benchrunner.features.arrays import Features
from benchrunner.features.flat_batch import FILLING, collate

if TYPE_CHECKING:
    from benchrunner.backbones.encoder import Encoder

WHOLE_TABLE = (
    "a whole embedding table is trained, since the encoder's states change with a table of only the rows in use: a "
    "table of its `word_embeddings` is used for more than looking up `batch.tokens`"
)
"""Note of a fit that trains a whole table although it is one of the encoder's `word_embeddings`."""

_ROWS = "rows_in_use"
"""Name of the embedding's buffer with the row of each id."""


class WordsInUse:
    """Replaces the table of an embedding by the rows that features use; `restore` puts the whole table back."""

    def __init__(self, embedding: nn.Embedding, features: Features) -> None:
        self._embedding = embedding
        self._full = embedding.weight.detach()
        self._padding = embedding.padding_idx
        used = np.unique(features.tokens)
        if self._padding is not None:  # torch gives this row no gradient: it needs a row of its own
            used = np.union1d(used, [self._padding])
        device = self._full.device
        self._used = torch.from_numpy(used.astype(np.int64)).to(device)
        rows = torch.full((len(self._full),), len(used), device=device)  # an id not in use is out of range
        rows[FILLING] = 0  # any row will do: the states of filling are not used
        rows[self._used] = torch.arange(len(used), device=device)
        embedding.weight = nn.Parameter(self._full[self._used])
        embedding.padding_idx = None if self._padding is None else int(rows[self._padding])
        embedding.register_buffer(_ROWS, rows, persistent=False)
        self._hook = embedding.register_forward_pre_hook(_look_up)

    @property
    def weight(self) -> nn.Parameter:
        """The weight of the embedding as it is now: the small table until `restore`, then the whole table."""
        return self._embedding.get_parameter("weight")

    def restore(self, unused: float) -> None:
        """Put the whole table back with the trained rows. The other rows are multiplied by `unused`."""
        whole = self._full * unused
        whole[self._used] = self._embedding.weight.detach().to(whole.device)
        self._hook.remove()
        delattr(self._embedding, _ROWS)
        self._embedding.padding_idx = self._padding
        self._embedding.weight = nn.Parameter(whole)


def trained_tables(encoder: Encoder) -> list[nn.Embedding]:
    """Return those of the encoder's `word_embeddings` whose weights are trained."""
    return [table for table in encoder.word_embeddings if table.weight.requires_grad]


def narrowed(encoder: Encoder, features: Features) -> list[WordsInUse]:
    """Reduce the encoder's trained tables to the rows in use, except tables of which the encoder needs all rows.

    The encoder's states of two units must be the same bits with either table. A different result means that the encoder
    reads the table in other ways than by calling it with `batch.tokens`.
    """
    trained = trained_tables(encoder)
    if not trained:
        return []
    tables = []
    whole = _states(encoder, features)
    for embedding in trained:
        words = WordsInUse(embedding, features)
        try:
            states = _states(encoder, features)
        except Exception:  # the encoder's own code may fail in any way on a smaller table
            states = []
        if len(states) == len(whole) and all(map(torch.equal, states, whole)):
            tables.append(words)
        else:
            words.restore(1.0)
    return tables


def _look_up(embedding: nn.Module, inputs: tuple[Any, ...]) -> tuple[torch.Tensor]:
    """Map ids to rows of the small table before the embedding looks them up."""
    (tokens,) = inputs
    rows = embedding.get_buffer(_ROWS)[tokens]
    # On an accelerator this check would wait for the device; torch's own check stops the work there.
    if rows.device.type == "cpu" and bool((rows == len(embedding.get_parameter("weight"))).any()):
        raise PluginError(
            "A table of the encoder's `word_embeddings` is reduced to the rows of tokens in the training data, and the "
            "encoder looks up another token in it. Look up `batch.tokens` alone, or leave the table out of "
            "`word_embeddings`."
        )
    return (rows,)


@torch.no_grad()
def _states(encoder: Encoder, features: Features) -> list[torch.Tensor]:
    """Compute the states of every layer and the summaries of two units, without dropout.

    The units are the shortest and one with the largest id. They usually differ in length, so that an encoder that pads
    has to pad.
    """
    first_tokens = features.starts[features.groups]  # of each unit
    largest = np.searchsorted(first_tokens, features.tokens.argmax(), side="right") - 1
    units = np.unique([features.unit_tokens.argmin(), largest])
    batch = collate(features, units, next(encoder.parameters()).device)
    training = encoder.training
    encoder.eval()
    try:
        states = list(encoder.hidden_states(batch))
        return [*states, encoder.summary(states[-1], batch)]
    finally:
        encoder.train(training)
