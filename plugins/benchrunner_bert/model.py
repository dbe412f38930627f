"""BERT (Devlin et al., 2019) on flat batches. Read this file from top to bottom.

In shape comments, T is the number of tokens in a batch (all sequences one after another, without padding), N is the
number of sequences, and H is the hidden size. Only attention needs to know where a sequence starts and ends:
embeddings, linear layers and norms treat every token in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from benchrunner import RequestError
from benchrunner.engine import Encoder, ExportedHead, FlatBatch, Frame, Pieces, Sequences, StackedLinear
from benchrunner_bert.checkpoint_writer import write_encoder
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.tokenizer import BertTokenizer
from benchrunner_checkpoints import attend, attention_kernel

_TANH_GELU = partial(functional.gelu, approximate="tanh")
ACTIVATIONS: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "gelu": functional.gelu,
    "gelu_new": _TANH_GELU,
    "gelu_pytorch_tanh": _TANH_GELU,
    "relu": functional.relu,
}
"""Names of activation functions in config.json -> functions."""


def _embedding(count: int, config: Configuration) -> nn.Embedding:
    """Make a table of vectors that nobody has drawn yet.

    `nn.Embedding` would draw it, which on the device `meta` makes torch import its compiler: seconds of the processor.
    """
    return nn.Embedding(count, config.hidden, _weight=torch.empty(count, config.hidden))


class Embeddings(nn.Module):
    """The input of the first layer: the sum of a token's word, position and segment embeddings, normalised."""

    def __init__(self, config: Configuration) -> None:
        super().__init__()
        self.word = _embedding(config.vocabulary, config)
        self.position = _embedding(config.positions, config)
        self.segment = _embedding(config.segments, config)
        self.norm = nn.LayerNorm(config.hidden, eps=config.epsilon)

    @torch.no_grad()
    def set_sinusoidal_positions(self, deviation: float) -> None:
        """Initialise the position embeddings with sine waves that have a standard deviation.

        With sine waves, a step to the left is the same rotation at every position. What attention learns about
        neighbours therefore also holds at positions that no training sequence has reached yet. Training changes these
        embeddings just as it changes drawn ones.
        """
        count, width = self.position.weight.shape
        slowest = math.log(count)
        rates = torch.exp(torch.linspace(0, -slowest, (width + 1) // 2))  # radians per position: 1 down to 1 / count
        angles = torch.arange(count).outer(rates)  # (positions, H / 2)
        waves = torch.cat([angles.sin(), angles.cos()], dim=1)[:, :width]
        self.position.weight.copy_(waves * (math.sqrt(2) * deviation))

    def forward(self, batch: FlatBatch, dropout: float) -> torch.Tensor:
        hidden = self.word(batch.tokens) + self.segment(batch.segments) + self.position(batch.positions)  # (T, H)
        return batch.dropout(self.norm(hidden), dropout, "embeddings")


class Layer(nn.Module):
    """Self-attention, then a feed-forward network.

    The output of each of the two is added to its input, and the sum is normalised (post-norm).
    """

    def __init__(self, config: Configuration, index: int) -> None:
        super().__init__()
        self.index = index
        self.heads = config.heads
        self.direction = config.direction
        self.activation = ACTIVATIONS[config.activation]
        # One product gives query, key and value: the three published matrices are stacked.
        self.qkv = StackedLinear(config.hidden, config.hidden, count=3)
        self.attention_output = nn.Linear(config.hidden, config.hidden)
        self.attention_norm = nn.LayerNorm(config.hidden, eps=config.epsilon)
        self.inner = nn.Linear(config.hidden, config.inner)
        self.output = nn.Linear(config.inner, config.hidden)
        self.output_norm = nn.LayerNorm(config.hidden, eps=config.epsilon)

    def forward(
        self,
        hidden: torch.Tensor,
        batch: FlatBatch,
        dropout: float,
        attention_dropout: float,
        tokens: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Compute the states of all tokens, (T, H) -> (T, H), or of the given tokens only, (T, H) -> (N, H)."""
        # Dropout masks are drawn from (seed, step, site): each site has a name of its own.
        site = f"layer {self.index}"
        attention_site = f"{site} attention"
        qkv = self.qkv(hidden).unflatten(-1, (3, self.heads, -1))  # (T, 3, heads, H / heads)
        context = attend(qkv, batch, rate=attention_dropout, site=attention_site, direction=self.direction)  # (T, H)
        if tokens is not None:
            context = context.index_select(0, tokens)
            hidden = hidden.index_select(0, tokens)
        attended = self.attention_output(context)
        hidden = batch.add_and_norm(attended, hidden, self.attention_norm, dropout, f"{site} attention output")
        activation = batch.gelu if self.activation is functional.gelu else self.activation
        inner = activation(self.inner(hidden))  # (T, 4H)
        return batch.add_and_norm(self.output(inner), hidden, self.output_norm, dropout, f"{site} output")


class Bert(Encoder):
    """Embeddings, layers, and a pooler that turns the state of one token into the vector of its sequence."""

    autocasts_layers = True
    attention_kernel = staticmethod(attention_kernel)

    has_fresh_pooler: bool = False
    """Whether the checkpoint has no pooler, so that its weights are drawn from the seed."""

    make_token_head: Callable[[Mapping[str, torch.Tensor] | None], nn.Module] | None = None
    """Makes what `vocabulary_head` gives; set by whoever reads or draws the weights of a model."""

    def __init__(self, config: Configuration, tokenizer: BertTokenizer) -> None:
        super().__init__()
        self.config = config
        self.tokenizer = tokenizer
        self.hidden_size = config.hidden
        self.max_length = config.positions
        self.dropout = config.dropout
        self.attention_dropout = config.attention_dropout
        self.tokenizer_fingerprint = tokenizer.fingerprint
        self.summary_place = "last" if config.direction == "left-to-right" else "first"
        self.embeddings = Embeddings(config)
        # The property `Encoder.layers` gives this list.
        self.layers = nn.ModuleList(Layer(config, index) for index in range(config.layers))  # type: ignore[assignment, misc]
        self.pooler = nn.Linear(config.hidden, config.hidden)

    @property
    def word_embeddings(self) -> Sequence[nn.Embedding]:
        return (self.embeddings.word,)

    @property
    def fresh_modules(self) -> Sequence[nn.Module]:
        return (self.pooler,) if self.has_fresh_pooler else ()

    def set_dropout(self, rate: float) -> None:
        self.dropout = self.attention_dropout = rate

    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        return self.tokenizer.assemble(first, second, max_length)

    def pieces(self, texts: Sequence[str]) -> Pieces:
        return self.tokenizer.pieces(texts)

    @property
    def frame(self) -> Frame:
        return self.tokenizer.frame

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        hidden = self.embeddings(batch, self.dropout)
        yield hidden
        for layer in self.layers:
            hidden = layer(hidden, batch, self.dropout, self.attention_dropout)
            yield hidden

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """Apply the pooler to the first token of every sequence, [CLS]: (T, H) -> (N, H).

        Where attention looks left only, the pooler reads the last token instead: there [CLS] sees nothing but itself,
        while the [SEP] at the end has seen all other tokens.
        """
        return torch.tanh(self.pooler(hidden.index_select(0, self.summary_tokens(batch))))

    def summarized(self, batch: FlatBatch) -> torch.Tensor:
        """Compute `summary` without the states of other tokens after the attention of the last layer."""
        *lower, last = self.layers
        hidden = self.embeddings(batch, self.dropout)
        for layer in lower:
            hidden = layer(hidden, batch, self.dropout, self.attention_dropout)
        states = last(hidden, batch, self.dropout, self.attention_dropout, self.summary_tokens(batch))
        return torch.tanh(self.pooler(states))

    def vocabulary_head(self, weights: Mapping[str, torch.Tensor] | None = None) -> nn.Module:
        """Make the layers of pre-training that turn states into logits over the vocabulary: (P, H) -> (P, V).

        `weights` are those of such a head, by its own names; None: those of the checkpoint. The attribute `mask` of the
        head is the id of the token that stands for a token to predict, or None if the state of a token predicts the
        next token. Raises a `RequestError` with the reason why there is no head.
        """
        if self.make_token_head is None:
            raise RequestError("the model is not from a checkpoint")
        return self.make_token_head(weights)

    def draw(self, source: torch.Generator) -> None:
        """Initialise all weights: matrices from a truncated normal distribution, biases with 0, norms with 1."""
        draw_modules(self, self.config, source)

    def draw_layer(self, index: int, source: torch.Generator) -> None:
        draw_modules(self.layers[index], self.config, source)

    def draw_summary(self, source: torch.Generator) -> None:
        """Initialise the pooler."""
        draw_modules(self.pooler, self.config, source)

    def save(self, folder: Path, head: ExportedHead | None = None) -> None:
        write_encoder(folder, self, self.config, self.tokenizer, head)


def draw_modules(part: nn.Module, config: Configuration, source: torch.Generator) -> None:
    """Initialise all weights of a part: matrices from a truncated normal distribution, biases with 0, norms with 1."""
    for module in part.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            draw_weight(module.weight, config, source)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
        if isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)


def draw_weight(weight: torch.Tensor, config: Configuration, source: torch.Generator) -> None:
    """Fill a weight from a normal distribution cut at two standard deviations, as in the released code."""
    limit = 2 * config.deviation
    nn.init.trunc_normal_(weight, std=config.deviation, a=-limit, b=limit, generator=source)
