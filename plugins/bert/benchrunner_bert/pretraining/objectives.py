"""What a BERT learns from in pre-training: the heads, the losses, and the table of objectives."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from benchrunner import RequestError, UnknownName
from benchrunner.engine import IGNORED, generator
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import ACTIVATIONS, Bert, draw_weight
from benchrunner_bert.pretraining import losses

if TYPE_CHECKING:
    from benchrunner_bert.pretraining.batches import PretrainingBatch
    from benchrunner_bert.tokenizer import BertTokenizer


@dataclass(frozen=True)
class Objective:
    """A row of the table."""

    name: str
    about: str
    architecture: str
    """What transformers calls a BERT with these heads."""
    next_sentence: bool
    """Whether the second span is to be told from a random one."""
    left_only: bool
    """Whether attention looks left only, so that the next token is not seen."""

    def configured(self, config: Configuration) -> Configuration:
        """The configuration with the attention that this objective needs."""
        return dataclasses.replace(config, direction="left-to-right" if self.left_only else "both")


OBJECTIVES: Mapping[str, Objective] = {
    one.name: one
    for one in (
        Objective("mlm+nsp", "masked tokens and next sentences", "BertForPreTraining", True, False),
        Objective("mlm", "masked tokens alone", "BertForMaskedLM", False, False),
        Objective("ltr", "the next token, seeing only those before it", "BertLMHeadModel", False, True),
    )
}
"""By the names that `--objective` takes."""


def named(name: str) -> Objective:
    if name not in OBJECTIVES:
        raise UnknownName("objective", name, OBJECTIVES)
    return OBJECTIVES[name]


class Sums(NamedTuple):
    """What a batch's losses and hits add up to; means over many micro-batches and ranks are left to the caller.

    All are tensors without dimensions, still on the device. `mlm` is about tokens, the left-to-right objective's too.
    A tuple, because that is where ZeRO's third stage looks for tensors that a backward pass starts from.
    """

    mlm_loss: torch.Tensor
    mlm_count: torch.Tensor
    mlm_correct: torch.Tensor
    nsp_loss: torch.Tensor
    nsp_count: torch.Tensor
    nsp_correct: torch.Tensor

    def loss(self, tokens: int, sequences: int) -> torch.Tensor:
        """This batch's share of mean MLM + mean NSP over a recipe batch of so many predictions and sequences."""
        return self.mlm_loss / tokens + self.nsp_loss / max(1, sequences)

    def detached(self) -> Sums:
        return Sums(*(one.detach() for one in self))

    def plus(self, other: Sums) -> Sums:
        return Sums(*(one + another for one, another in zip(self, other, strict=True)))


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
        loss, correct = losses.summed(self.tokens(hidden[batch.positions]), batch.labels)
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
