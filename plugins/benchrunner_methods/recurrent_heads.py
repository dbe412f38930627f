"""Heads of recurrent layers: a BiLSTM (Devlin et al. 2019, 5.3), and BiLSTMs with attention between them.

The second is the head of Wang et al. 2018 for a text or a pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import torch
from torch import nn

from benchrunner.engine import FlatBatch, arrays, heads, randomness

if TYPE_CHECKING:
    from benchrunner.engine import Encoder, HeadShape, Job

LAYERS = 2
"""Layers of a BiLSTM before the classifier, or before attention (Devlin et al. 2019, 5.3; Wang et al. 2018, 4.1)."""
INITIAL_DEVIATION = 0.02
"""Standard deviation of fresh weights of linear layers (Devlin et al. 2019, released code)."""
CLASSIFIER_WIDTH = 512
"""Hidden units of the classifier (Wang et al. 2018, 4.1)."""


def bilstm_head(encoder: Encoder, job: Job) -> BiLstmHead:
    """Make a BiLSTM head with fresh weights, as the problem of a job needs it."""
    return BiLstmHead(encoder.hidden_size, job.problem.head, seed=job.fit.seed, width=job.fit.recipe.bilstm_width)


class BiLstmHead(heads.Head):
    """Two BiLSTM layers over each sequence, then a linear layer over each token, or over both ends of the sequence."""

    def __init__(self, hidden: int, shape: HeadShape, *, seed: int, width: int) -> None:
        """Draw fresh weights. `width` is the size of a layer's output for a token, both directions together."""
        super().__init__()
        self.level = shape.level
        self.width = width
        sizes = (hidden, *[width] * (LAYERS - 1))
        self.layers = nn.ModuleList(nn.LSTM(size, width // 2, bidirectional=True) for size in sizes)
        self.output = nn.Linear(width, shape.width)
        source = randomness.generator(seed, "head")
        bound = 1 / math.sqrt(width // 2)
        for weight in self.layers.parameters():
            nn.init.uniform_(weight, -bound, bound, generator=source)
        draw_linear(self.output, source)

    def forward(self, encoder: Encoder, batch: FlatBatch) -> torch.Tensor:
        return self.read(encoder(batch), batch, rate=encoder.dropout)

    def read(self, hidden: torch.Tensor, batch: FlatBatch, *, rate: float) -> torch.Tensor:
        """Compute the outputs from any states (T, hidden). `rate` is the dropout before each layer."""
        order, sizes = time_order(batch)
        with torch.autocast(hidden.device.type, enabled=False):  # not every device has an LSTM in half precision
            states = hidden.float()[order]
            for number, layer in enumerate(self.layers):
                states = batch.dropout(states, rate, f"bilstm {number}")
                states = layer(nn.utils.rnn.PackedSequence(states, sizes))[0].data
            states = torch.zeros(len(hidden), self.width, device=hidden.device).index_copy(0, order, states)
            if self.level == "sequence":
                states = self._ends(states, batch)
            # Half precision has so few different values that scores would often be equal.
            outputs: torch.Tensor = self.output(batch.dropout(states, rate, "head"))
        return outputs

    def _ends(self, states: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """Join what each direction has read when it reaches the end of a sequence, in the order of the units."""
        first = batch.starts[:-1].long()
        last = batch.starts[1:].long() - 1
        half = self.width // 2
        return torch.cat([states[last, :half], states[first, half:]], dim=1).index_select(0, batch.restore)


@final
class AttentionHead(nn.Module):
    """Computes one output for each sequence, whose segments 0 and 1 are the texts of a pair (Wang et al. 2018, 4.1).

    The states of each text after the first BiLSTM attend to those of the other text. A text's states and what they
    attend to go through the second BiLSTM, and the maximum over the text is its vector. The classifier reads
    [u; v; |u - v|; u * v]. A single text goes through the first BiLSTM only, and its maximum to the classifier.
    """

    def __init__(self, hidden: int, outputs: int, *, pairs: bool, seed: int, width: int) -> None:
        """Draw fresh weights. `width` is the size of a BiLSTM's output for a token, both directions together."""
        super().__init__()
        self.pairs = pairs
        widths = (hidden, *[width] * (LAYERS - 1))
        self.first = nn.ModuleList(BiLstm(inputs, width) for inputs in widths)
        self.second = BiLstm(2 * width, width) if pairs else None
        self.inner = nn.Linear(4 * width if pairs else width, CLASSIFIER_WIDTH)
        self.output = nn.Linear(CLASSIFIER_WIDTH, outputs)
        source = randomness.generator(seed, "head")
        bound = 1 / math.sqrt(width // 2)
        recurrent = [*self.first.parameters()]
        if self.second is not None:
            recurrent += self.second.parameters()
        for weight in recurrent:
            nn.init.uniform_(weight, -bound, bound, generator=source)
        draw_linear(self.inner, source)
        draw_linear(self.output, source)

    def forward(self, hidden: torch.Tensor, batch: FlatBatch, *, rate: float) -> torch.Tensor:
        """Compute the outputs, in the order of the units, from states (T, hidden)."""
        texts = Texts.of(batch, pairs=self.pairs)
        with torch.autocast(hidden.device.type, enabled=False):  # not every device has an LSTM in half precision
            states = hidden.float()
            for number, layer in enumerate(self.first):
                states = layer(texts, batch.dropout(states, rate, f"first bilstm {number}"))
            if self.second is None:  # single texts
                vectors = texts.maximum(states)
            else:
                both = torch.cat([states, texts.attended(states)], dim=1)
                states = self.second(texts, batch.dropout(both, rate, "second bilstm"))
                vectors = texts.maximum(states)
                u = vectors[::2]  # the two texts of a pair follow each other
                v = vectors[1::2]
                vectors = torch.cat([u, v, (u - v).abs(), u * v], dim=1)
            inside = torch.tanh(self.inner(batch.dropout(vectors, rate, "vectors")))
            outputs: torch.Tensor = self.output(batch.dropout(inside, rate, "classifier"))
        return outputs.index_select(0, batch.restore)


@final
class BiLstm(nn.Module):
    """Two LSTM layers that read each text alone, in opposite directions: (T, inputs) -> (T, width)."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(inputs, width // 2)
        self.backwards = nn.LSTM(inputs, width // 2)

    def forward(self, texts: Texts, states: torch.Tensor) -> torch.Tensor:
        forwards = _read_one_way(self.forwards, states, texts)
        backwards = _read_one_way(self.backwards, states, texts, backward=True)
        return torch.cat([forwards, backwards], dim=1)


def _read_one_way(lstm: nn.LSTM, states: torch.Tensor, texts: Texts, *, backward: bool = False) -> torch.Tensor:
    """Let an LSTM layer read each text in one direction, in fp32: (T, inputs) -> (T, width).

    With `backward`, each text is read from its last token to its first. The outputs of tokens in no text are zero.

    Short texts read one of their tokens again until the longest text ends. All their outputs are computed by then, so
    nothing depends on these steps. The gradients of torch's packed sequences take time in proportion to tokens x steps
    on a CPU: for 64 sequences of up to 64 tokens, this function trains in a third to a fifth of the time.
    """
    steps = np.arange(texts.lengths.max())[:, None]
    present = steps < texts.lengths  # (steps, texts)
    last = texts.lengths - 1
    steps = np.minimum(steps, last)
    places = texts.starts + (last - steps if backward else steps)
    indices = arrays.on_device(
        {"read": places.ravel(), "present": np.flatnonzero(present), "written": places[present]}, states.device
    )
    with torch.autocast(states.device.type, enabled=False):  # not every device has an LSTM in half precision
        inputs = states.float().index_select(0, indices["read"])
        read, _ = lstm(inputs.view(*places.shape, -1))
        outputs: torch.Tensor = read.flatten(0, 1).index_select(0, indices["present"])
    return outputs.new_zeros(len(states), outputs.shape[1]).index_copy(0, indices["written"], outputs)


@final
@dataclass(frozen=True)
class Texts:
    """The texts in a batch, one after another: both texts of the first sequence, both of the second, and so on."""

    starts: np.ndarray
    """int64 (S,): first token of each text"""
    lengths: np.ndarray
    """int64 (S,): tokens of each text"""

    @classmethod
    def of(cls, batch: FlatBatch, *, pairs: bool) -> Texts:
        """Find the texts of a batch; of pairs, the second text is the tokens of segment 1."""
        lengths = batch.lengths
        starts = lengths.cumsum() - lengths
        if not pairs:
            return cls(starts, lengths)
        seconds = np.add.reduceat(batch.segments[: batch.real].cpu().numpy(), starts)
        firsts = lengths - seconds
        starts_of_both = np.stack([starts, starts + firsts], axis=1)
        lengths_of_both = np.stack([firsts, seconds], axis=1)
        return cls(starts_of_both.ravel(), lengths_of_both.ravel())

    def attended(self, states: torch.Tensor) -> torch.Tensor:
        """Compute for each token the mean of the other text's states, weighted by the softmax of their products."""
        lengths = self.lengths.tolist()
        texts = torch.split(states[: sum(lengths)], lengths)
        means = list[torch.Tensor]()
        for first, second in zip(texts[::2], texts[1::2], strict=True):
            products = first @ second.T
            means.append(products.softmax(1) @ second)
            means.append(products.T.softmax(1) @ first)
        filling = states.new_zeros(len(states) - sum(lengths), states.shape[1])
        return torch.cat([*means, filling])

    def maximum(self, states: torch.Tensor) -> torch.Tensor:
        """Compute the maximum over the tokens of each text: (T, width) -> (S, width)."""
        parts = torch.split(states[: int(self.lengths.sum())], self.lengths.tolist())
        return torch.stack([part.amax(0) for part in parts])


def draw_linear(layer: nn.Linear, source: torch.Generator) -> None:
    """Draw a weight from a normal distribution that is truncated at two standard deviations; the bias is zero."""
    most = 2 * INITIAL_DEVIATION
    nn.init.trunc_normal_(layer.weight, std=INITIAL_DEVIATION, a=-most, b=most, generator=source)
    nn.init.zeros_(layer.bias)


def time_order(batch: FlatBatch) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the order of tokens that torch's `PackedSequence` needs, and the number of sequences at each time step.

    The order has the first token of every sequence, the longest sequence first, then every second token, and so on. The
    numbers are on the CPU, where `PackedSequence` wants them.
    """
    lengths = batch.lengths[::-1]
    starts = batch.real - np.cumsum(lengths)
    steps = np.arange(batch.longest)[:, None]
    present = steps < lengths
    order = arrays.on_device({"order": (starts + steps)[present]}, batch.tokens.device)["order"]
    return order, torch.from_numpy(present.sum(1))
