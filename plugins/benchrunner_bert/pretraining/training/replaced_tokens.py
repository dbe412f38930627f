"""Replaced-token detection (Clark et al. 2020, ELECTRA): a small generator fills masks, and the model finds its tokens.

The generator predicts masked tokens, as with the objective `mlm`. Tokens drawn from its predictions take the places of
the masks, and the model tells for each token of the sequence whether it was replaced. No gradient goes through the
draws. The generator reads the model's own embeddings, and is left out of the finished model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, final

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchrunner.engine import FlatBatch, randomness
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import ACTIVATIONS, Bert, Layer, apply_layer, draw_modules
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch
from benchrunner_bert.pretraining.objectives import Objective
from benchrunner_bert.pretraining.training import cross_entropy
from benchrunner_bert.pretraining.training.flops import replaced_tokens_flops
from benchrunner_bert.pretraining.training.sums import Sums
from benchrunner_bert.pretraining.training.trained_bert import NO_POOLER, TrainedBert
from benchrunner_bert.token_head import TokenHead
from benchrunner_bert.tokenizer import BertTokenizer


def generator_configuration(config: Configuration, share: float) -> Configuration:
    """Give the configuration of the generator of a model: as many layers, of a share of its width.

    The number of heads is the same share, or else the next smaller number that divides the width.
    """
    width = max(1, round(config.hidden * share))
    heads = max(1, round(config.heads * share))
    while width % heads:
        heads -= 1
    return dataclasses.replace(config, hidden=width, heads=heads, inner=max(1, round(config.inner * share)))


class Generator(nn.Module):
    """Narrow layers between the embeddings of a BERT and a head that predicts its tokens."""

    def __init__(self, bert: Bert, share: float) -> None:
        super().__init__()
        self.config = generator_configuration(bert.config, share)
        self.projection = nn.Linear(bert.config.hidden, self.config.hidden)
        self.layers = nn.ModuleList(Layer(self.config, index) for index in range(self.config.layers))
        self.tokens = TokenHead(bert, width=self.config.hidden)

    def draw(self, source: torch.Generator) -> None:
        """Initialise all weights but the embeddings."""
        for part in (self.projection, self.layers):
            draw_modules(part, self.config, source)
        self.tokens.draw(self.config, source)

    def forward(self, embedded: torch.Tensor, batch: FlatBatch, rate: float, *, twice: bool) -> torch.Tensor:
        """Compute the states of all tokens from their embeddings, (T, H) -> (T, width), with a dropout rate."""
        hidden: torch.Tensor = self.projection(embedded)
        for layer in self.layers:
            hidden = apply_layer(layer, (hidden, batch, rate, rate), twice=twice)
        return hidden


class Detector(nn.Module):
    """Tells from a state whether its token was replaced: above 0 if it was."""

    def __init__(self, config: Configuration) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        self.dense = nn.Linear(config.hidden, config.hidden)
        self.output = nn.Linear(config.hidden, 1)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Turn states (T, H) into scores (T,)."""
        scores: torch.Tensor = self.output(self.activation(self.dense(states)))
        return scores.squeeze(-1)


@final
class ReplacedTokensModel(TrainedBert):
    """A BERT that finds replaced tokens, with the generator that replaces them."""

    def __init__(self, bert: Bert, objective: Objective, *, share: float, weight: float = 1.0) -> None:
        """`share` is the generator's width as a share of the BERT's; `weight` is that of the loss of the BERT."""
        super().__init__()
        self.bert = bert
        self.objective = objective
        self.further_weight = weight
        self.generator = Generator(bert, share)
        self.detector = Detector(bert.config)
        bert.pooler.requires_grad_(False)  # no loss depends on it, and weight decay alone must not change it

    @classmethod
    def fresh(
        cls,
        config: Configuration,
        tokenizer: BertTokenizer,
        objective: Objective,
        *,
        share: float,
        weight: float,
        seed: int,
    ) -> ReplacedTokensModel:
        """Draw a model from the seed: its BERT is that of the objective `mlm` with this seed."""
        model = cls(Bert(objective.configured(config), tokenizer), objective, share=share, weight=weight)
        source = randomness.generator(seed, "pre-training")
        model.bert.draw(source)
        model.generator.draw(source)
        draw_modules(model.detector, config, source)
        return model

    def sums(self, batch: PretrainingBatch) -> Sums:
        flat = batch.flat
        logits = self._guesses(batch)
        loss, correct = cross_entropy.summed(logits, batch.labels)
        drawn = cross_entropy.drawn(logits.detach(), batch.chances)
        tokens = flat.tokens.index_copy(0, batch.positions, drawn)
        hidden = self.bert(dataclasses.replace(flat, tokens=tokens))
        scores = self.detector(hidden)[: flat.real]  # the number of all rows is round: see `logits`
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        replaced = torch.zeros_like(flat.tokens).index_copy(0, batch.positions, (drawn != batch.labels).long())
        truth = replaced[: flat.real]
        detection_loss = functional.binary_cross_entropy_with_logits(scores, truth.to(scores.dtype), reduction="sum")
        found = ((scores > 0) == (truth > 0)).sum()
        counts = [torch.full((), size, device=hidden.device) for size in (len(drawn), flat.real)]
        return Sums(loss, counts[0], correct, detection_loss, counts[1], found)

    def _guesses(self, batch: PretrainingBatch) -> torch.Tensor:
        """Compute the generator's logits for the tokens to predict, (P, V)."""
        bert = self.bert
        # Dropout masks are drawn from (seed, step, site), and the model's layers have the names of the generator's.
        flat = dataclasses.replace(batch.flat, dropout=batch.flat.dropout.within("generator"))
        embedded = bert.embeddings(flat, bert.dropout)
        states = self.generator(embedded, flat, bert.dropout, twice=bert.recomputes)
        return self.logits(self.generator.tokens, states[batch.positions])

    def step_flops(self, lengths: np.ndarray, predictions: int, *, next_sentence: bool) -> int:
        return replaced_tokens_flops(self.config, self.generator.config, lengths, predictions)

    def published(self) -> Iterator[tuple[str, torch.Tensor]]:
        return self.published_encoder(pooler=False)

    def published_configuration(self) -> dict[str, Any]:
        return self.config.as_json()

    def introduction(self) -> Iterator[str]:
        small = self.generator.config
        yield self.opening()
        yield f"{self.objective.about}. To fine-tune and compare it: `benchrunner compare FOLDER --tasks ...`."
        yield f"The generator, of as many layers, {small.hidden} wide, is left out, and so is the layer that found the"
        yield "replaced tokens. In transformers the model is a `BertModel`; it has no head that predicts tokens."
        yield from ("", NO_POOLER)
