"""The model of a pre-training: a BERT with the heads of its objective."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from benchrunner import RequestError
from benchrunner.engine import IGNORED, generator
from benchrunner_bert.configuration import LOOKS, Configuration
from benchrunner_bert.model import ACTIVATIONS, Bert, draw_weight
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch
from benchrunner_bert.pretraining.objectives import Objective
from benchrunner_bert.pretraining.training import cross_entropy
from benchrunner_bert.pretraining.training.sums import Sums
from benchrunner_bert.tokenizer import BertTokenizer


class TokenHead(nn.Module):
    """Predicts tokens: a transform of the state, then the word embeddings as output weights, with their own bias."""

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        config = bert.config
        self.activation = ACTIVATIONS[config.activation]
        self.dense = nn.Linear(config.hidden, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.epsilon)
        self.output = nn.Linear(config.hidden, config.vocabulary)
        self.output.weight = bert.embeddings.word.weight

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Turn states of the predicted tokens (P, H) into logits (P, V)."""
        logits: torch.Tensor = self.output(self.norm(self.activation(self.dense(states))))
        return logits


class PretrainingModel(nn.Module):
    """A BERT with the heads of its objective."""

    def __init__(self, bert: Bert, objective: Objective) -> None:
        super().__init__()
        if bert.config.direction != objective.direction:
            raise RequestError(
                f"The objective {objective.name} needs attention that looks {LOOKS[objective.direction]}; "
                f"this BERT's looks {LOOKS[bert.config.direction]}."
            )
        self.bert, self.objective = bert, objective
        self.tokens = TokenHead(bert)
        self.next_sentence = nn.Linear(bert.config.hidden, 2) if objective.next_sentence else None
        if self.next_sentence is None:  # no loss depends on the pooler, and weight decay alone must not change it
            bert.pooler.requires_grad_(False)

    @classmethod
    def fresh(
        cls, config: Configuration, tokenizer: BertTokenizer, objective: Objective, *, seed: int
    ) -> PretrainingModel:
        """Draw a model from the seed, with the direction of attention that the objective needs."""
        model = cls(Bert(objective.configured(config), tokenizer), objective)
        model.draw(generator(seed, "pre-training"))
        return model

    def draw(self, source: torch.Generator) -> None:
        """Initialise all weights: matrices from a truncated normal distribution, biases with 0, norms with 1."""
        self.bert.draw(source)
        for module in (self.tokens.dense, self.next_sentence):
            if module is not None:
                draw_weight(module.weight, self.bert.config, source)
                nn.init.zeros_(module.bias)
        nn.init.ones_(self.tokens.norm.weight), nn.init.zeros_(self.tokens.norm.bias)
        nn.init.zeros_(self.tokens.output.bias)

    def forward(self, batch: PretrainingBatch) -> Sums:
        hidden = self.bert(batch.flat)
        loss, correct = cross_entropy.summed(self.tokens(hidden[batch.positions]), batch.labels)
        tokens = loss, batch.labels.new_tensor(len(batch.labels)), correct
        if self.next_sentence is None:
            zero = torch.zeros((), device=hidden.device)
            return Sums(*tokens, zero, zero, zero)
        logits = self.next_sentence(self.bert.summary(hidden, batch.flat))
        return Sums(*tokens, *_next_sentence_sums(logits, batch.is_next))


def _next_sentence_sums(logits: torch.Tensor, is_next: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Give loss, count and hits. The first of the two outputs means IsNext, as in the released models."""
    targets = torch.where(is_next < 0, IGNORED, 1 - is_next)
    loss = functional.cross_entropy(logits.float(), targets, ignore_index=IGNORED, reduction="sum")
    return loss, (targets != IGNORED).sum(), (logits.argmax(-1) == targets).sum()
