"""BERT (Devlin et al., 2019) on flat batches, to be read from top to bottom.

T is the tokens of a batch, one sequence after another without padding; N its sequences; H the hidden width. Only
attention knows where a sequence ends: embeddings, linear layers and norms treat every token alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from benchrunner.engine import Encoder, ExportedHead, FlatBatch, Frame, Pieces, Sequences, attend
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.tokenizer import BertTokenizer

ACTIVATIONS: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "gelu": functional.gelu,
    "gelu_new": lambda x: functional.gelu(x, approximate="tanh"),
    "gelu_pytorch_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "relu": functional.relu,
}


class Embeddings(nn.Module):
    """The sum of what a token is, where it stands and which text it belongs to."""

    def __init__(self, config: Configuration) -> None:
        super().__init__()
        self.word = nn.Embedding(config.vocabulary, config.hidden)
        self.position = nn.Embedding(config.positions, config.hidden)
        self.segment = nn.Embedding(config.segments, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.epsilon)
        self.deviation = config.deviation

    @torch.no_grad()
    def wave(self) -> None:
        """Positions as sines of many lengths, as wide as drawn ones, for a model that has learnt nothing yet.

        The same step to the left is then the same rotation everywhere: what attention learns of neighbours holds for
        positions too that no sequence has reached yet. They are learnt on like drawn ones.
        """
        count, width = self.position.weight.shape
        slowest = math.log(count)
        rates = torch.exp(torch.linspace(0, -slowest, (width + 1) // 2))  # radians a position: 1 down to 1 / count
        angles = torch.arange(count).outer(rates)  # (positions, H / 2)
        waves = torch.cat([angles.sin(), angles.cos()], dim=1)[:, :width]
        self.position.weight.copy_(waves * (math.sqrt(2) * self.deviation))

    def forward(self, batch: FlatBatch, dropout: float) -> torch.Tensor:
        hidden = self.word(batch.tokens) + self.segment(batch.segments) + self.position(batch.positions)  # (T, H)
        return batch.dropout(self.norm(hidden), dropout, "embeddings")


class Layer(nn.Module):
    """Self-attention, then a feed-forward network; each is added to its input and then normalised (post-norm)."""

    def __init__(self, config: Configuration, index: int) -> None:
        super().__init__()
        self.index, self.heads, self.left_only = index, config.heads, config.left_only
        self.activation = ACTIVATIONS[config.activation]
        # Query, key and value in one product: three published matrices on top of each other.
        self.qkv = nn.Linear(config.hidden, 3 * config.hidden)
        self.attention_output = nn.Linear(config.hidden, config.hidden)
        self.attention_norm = nn.LayerNorm(config.hidden, eps=config.epsilon)
        self.inner = nn.Linear(config.hidden, config.inner)
        self.output = nn.Linear(config.inner, config.hidden)
        self.output_norm = nn.LayerNorm(config.hidden, eps=config.epsilon)

    def forward(self, hidden: torch.Tensor, batch: FlatBatch, dropout: float, attention_dropout: float) -> torch.Tensor:
        site = f"layer {self.index}"
        qkv = self.qkv(hidden).unflatten(-1, (3, self.heads, -1))  # (T, 3, heads, H / heads)
        looking = f"{site} attention"
        context = attend(qkv, batch, rate=attention_dropout, site=looking, left_only=self.left_only)  # (T, H)
        attended = batch.dropout(self.attention_output(context), dropout, f"{site} attention output")
        hidden = self.attention_norm(hidden + attended)
        inner = self.activation(self.inner(hidden))  # (T, 4H)
        return self.output_norm(hidden + batch.dropout(self.output(inner), dropout, f"{site} output"))  # type: ignore[no-any-return]


class Bert(Encoder):
    """Embeddings, layers, and a pooler that turns one token's state into the sentence's vector."""

    recomputes: bool = False
    """Whether layers keep only their input for the way back and compute the rest again: less memory, a third more work.

    Dropout comes from (seed, step, site), so the second time drops what the first did.
    """

    def __init__(self, config: Configuration, tokenizer: BertTokenizer) -> None:
        super().__init__()
        self.config, self.tokenizer = config, tokenizer
        self.hidden_size, self.max_length = config.hidden, config.positions
        self.dropout, self.attention_dropout = config.dropout, config.attention_dropout
        self.tokenizer_fingerprint = tokenizer.fingerprint
        self.embeddings = Embeddings(config)
        self.layers = nn.ModuleList(Layer(config, index) for index in range(config.layers))
        self.pooler = nn.Linear(config.hidden, config.hidden)

    @property
    def word_embedding(self) -> nn.Embedding:
        return self.embeddings.word

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
            hidden = self._through(layer, hidden, batch)
            yield hidden

    def _through(self, layer: nn.Module, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        given = hidden, batch, self.dropout, self.attention_dropout
        if self.recomputes and torch.is_grad_enabled():
            return checkpoint(layer, *given, use_reentrant=False, preserve_rng_state=False)  # type: ignore[no-any-return]
        return layer(*given)  # type: ignore[no-any-return]

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """The pooler on every sequence's first token: (T, H) -> (N, H).

        On its last token where attention looks left only: [CLS] then sees nothing but itself, while the [SEP] at
        the end has seen all the others.
        """
        chosen = batch.starts[1:] - 1 if self.config.left_only else batch.starts[:-1]
        return torch.tanh(self.pooler(hidden[chosen.long()]))

    def draw(self, source: torch.Generator) -> None:
        """Fresh weights: truncated normal, biases zero, norms one."""
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                draw_weight(module.weight, self.config, source)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
            if isinstance(module, nn.LayerNorm):
                nn.init.ones_(module.weight), nn.init.zeros_(module.bias)

    def save(self, folder: Path, head: ExportedHead | None = None) -> None:
        from benchrunner_bert.checkpoint import save

        save(self, folder, head)


def draw_weight(weight: torch.Tensor, config: Configuration, source: torch.Generator) -> None:
    """In place: a normal distribution cut at two deviations, as in the released code."""
    nn.init.trunc_normal_(
        weight, std=config.deviation, a=-2 * config.deviation, b=2 * config.deviation, generator=source
    )
