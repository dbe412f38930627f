"""The model of a BERT's pre-training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, final

import torch
from torch import nn
from torch.nn import functional

from benchrunner.engine import arrays, flat_batch
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import Bert, draw_modules
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch
from benchrunner_bert.pretraining.objectives import Objective
from benchrunner_bert.pretraining.training import cross_entropy
from benchrunner_bert.pretraining.training.sums import Sums
from benchrunner_bert.token_head import PUBLISHED, TokenHead
from benchrunner_bert.weight_names import published_weights

_PUBLISHED_HEADS = {
    **{f"tokens.{ours}": published for ours, published in PUBLISHED.items()},
    "next_sentence": "cls.seq_relationship",
}
"""Our module -> the published module."""

_NO_POOLER = "Its objective trains no pooler, so the files have none: fine-tuning draws a new pooler."
_LOOKS_LEFT = (
    "**Its attention looks left only.** config.json says so twice: `attention_direction` is benchrunner's key,",
    "`is_decoder` is transformers'. A library that knows neither would ignore the restriction and compute another",
    "model. The vector of a sequence is its last token's state, since the first token sees nothing but itself; a",
    "library that pools the first token, as transformers' own classifiers of sequences do, learns nothing from it.",
)
"""What a user of other libraries must know."""
_MANY = 2048
"""Number of rows from which `rounding` gives its largest multiple, 64."""


@final
class PretrainingModel(nn.Module):
    """A BERT with the heads of its objective."""

    precision: str = "fp32"
    """Precision of matrix products: `Settings.precision`."""
    casts_together: bool = False
    """Whether one kernel casts the weights of all layers: see `Encoder.cast_together`. Not at ZeRO's stages 1 to 3."""

    def __init__(self, bert: Bert, objective: Objective) -> None:
        super().__init__()
        self.bert = bert
        self.objective = objective
        self.tokens = TokenHead(bert)
        self.next_sentence = nn.Linear(bert.config.hidden, 2) if objective.next_sentence else None
        if self.next_sentence is None:  # no loss depends on the pooler, and weight decay alone must not change it
            bert.pooler.requires_grad_(False)

    def draw(self, source: torch.Generator) -> None:
        """Initialise all weights: matrices from a truncated normal distribution, biases with 0, norms with 1."""
        self.bert.draw(source)
        self.tokens.draw(self.config, source)
        if self.next_sentence is not None:
            draw_modules(self.next_sentence, self.config, source)

    @property
    def config(self) -> Configuration:
        """The configuration of the BERT."""
        return self.bert.config

    @property
    def size(self) -> str:
        """The size of the model, for the table of its card."""
        return f"{self.config.layers} layers, {self.config.hidden} wide, {self.config.heads} heads"

    def forward(self, batch: PretrainingBatch) -> Sums:
        """Compute the sums of losses and hits over a batch, in the model's precision.

        Autocast begins here and not around DeepSpeed's engine, since the engine ends a CUDA autocast around it
        (`autocast_if_enabled` of DeepSpeed 0.19).
        """
        if self.precision == "fp32":
            return self.sums(batch)
        casting: AbstractContextManager[None] = self.bert.cast_together() if self.casts_together else nullcontext()
        with torch.autocast(batch.flat.tokens.device.type, torch.bfloat16), casting:
            return self.sums(batch)

    def sums(self, batch: PretrainingBatch) -> Sums:
        """Compute the sums of losses and hits over a batch, in the precision of a surrounding autocast."""
        hidden = self.bert(batch.flat)
        loss, correct = cross_entropy.summed(self.logits(hidden[batch.positions]), batch.labels)
        count = torch.full((), len(batch.labels), device=hidden.device)
        if self.next_sentence is None:
            zero = torch.zeros((), device=hidden.device)
            return Sums(loss, count, correct, zero, zero, zero)
        logits = self.next_sentence(self.bert.summary(hidden, batch.flat))
        # The first of the two outputs means IsNext, as in the released models.
        targets = torch.where(batch.is_next < 0, arrays.IGNORED, 1 - batch.is_next)
        nsp_loss = functional.cross_entropy(logits.float(), targets, ignore_index=arrays.IGNORED, reduction="sum")
        nsp_correct = (logits.argmax(-1) == targets).sum()
        return Sums(loss, count, correct, nsp_loss, (targets != arrays.IGNORED).sum(), nsp_correct)

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Turn states of the predicted tokens (P, H) into logits (P, V).

        The head computes a round number of rows: oneDNN compiles and keeps a product in half precision for each number
        of rows, and the number of predicted tokens differs from step to step.
        """
        rows = len(states)
        filling = -rows % flat_batch.rounding(self.precision, _MANY)
        logits: torch.Tensor = self.tokens(functional.pad(states, (0, 0, 0, filling)))
        return logits[:rows]

    def published(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Give everything that was trained, by the names in the model's checkpoint.

        Without next sentences nothing trains the pooler. It is left out, and fine-tuning draws one from its seed.
        """
        for name, weight in published_weights(self.bert).items():
            if self.objective.next_sentence or not name.startswith("pooler."):
                yield f"bert.{name}", weight
        modules = dict(self.named_modules())
        for ours, published in _PUBLISHED_HEADS.items():
            if ours in modules:
                for name, parameter in modules[ours].named_parameters():
                    yield f"{published}.{name}", parameter.detach()
        yield "cls.predictions.bias", self.tokens.output.bias.detach()

    def published_configuration(self) -> dict[str, Any]:
        """Give the content of config.json of the exported model."""
        return {**self.config.as_json(), "architectures": [self.objective.architecture]}

    def introduction(self) -> Iterator[str]:
        """Give the lines of text at the beginning of the model's card."""
        objective = self.objective
        yield f"A BERT of {self.config.layers} layers, {self.config.hidden} wide, pre-trained by benchrunner on"
        yield f"{objective.about}. To fine-tune and compare it: `benchrunner compare FOLDER --tasks ...`."
        yield f"In transformers it is a `{objective.architecture}`, whose losses are those it was trained with."
        if objective.direction == "left-to-right":
            yield from ("", *_LOOKS_LEFT)
        if not objective.next_sentence:
            yield from ("", _NO_POOLER)
