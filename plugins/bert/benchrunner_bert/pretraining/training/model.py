"""The model of a pre-training: a BERT with the heads of its objective."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

from benchrunner import RequestError
from benchrunner.engine import IGNORED, generator
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import ACTIVATIONS, Bert, draw_weight
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch
from benchrunner_bert.pretraining.objectives import Objective
from benchrunner_bert.pretraining.training import cross_entropy
from benchrunner_bert.pretraining.training.sums import Sums

if TYPE_CHECKING:
    from benchrunner_bert.tokenizer import BertTokenizer


class TokenHead(nn.Module):
    """Which token belongs here: a transform, then the word embeddings once more, with a bias of their own."""

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        config = bert.config
        self.activation = ACTIVATIONS[config.activation]
        self.dense = nn.Linear(config.hidden, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.epsilon)
        self.output = nn.Linear(config.hidden, config.vocabulary)
        self.output.weight = bert.embeddings.word.weight

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """States of the chosen tokens (P, H) to logits (P, V)."""
        logits: torch.Tensor = self.output(self.norm(self.activation(self.dense(states))))
        return logits


class PretrainingModel(nn.Module):
    """A BERT with the heads of its objective."""

    def __init__(self, bert: Bert, objective: Objective) -> None:
        super().__init__()
        if bert.config.left_only != objective.left_only:
            raise RequestError(
                f"The objective {objective.name} needs attention that looks {_direction(objective.left_only)}; "
                f"this BERT's looks {_direction(bert.config.left_only)}."
            )
        self.bert, self.objective = bert, objective
        self.tokens = TokenHead(bert)
        self.next_sentence = nn.Linear(bert.config.hidden, 2) if objective.next_sentence else None
        if self.next_sentence is None:  # nothing reads the pooler; weight decay alone must not move it
            bert.pooler.requires_grad_(False)

    @classmethod
    def fresh(
        cls, config: Configuration, tokenizer: BertTokenizer, objective: Objective, *, seed: int
    ) -> PretrainingModel:
        """Drawn from the seed, with the attention that the objective needs."""
        model = cls(Bert(objective.configured(config), tokenizer), objective)
        model.draw(generator(seed, "pre-training"))
        return model

    def draw(self, source: torch.Generator) -> None:
        """Fresh weights: truncated normal, biases zero, norms one."""
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
            none = torch.zeros((), device=hidden.device)
            return Sums(*tokens, none, none, none)
        return Sums(*tokens, *_next(self.next_sentence(self.bert.summary(hidden, batch.flat)), batch.is_next))


def _next(logits: torch.Tensor, is_next: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Loss, count and hits; of the two outputs the first is IsNext, as in the released models."""
    targets = torch.where(is_next < 0, IGNORED, 1 - is_next)
    loss = functional.cross_entropy(logits.float(), targets, ignore_index=IGNORED, reduction="sum")
    return loss, (targets != IGNORED).sum(), (logits.argmax(-1) == targets).sum()


def _direction(left_only: bool) -> str:
    return "left only" if left_only else "both ways"
