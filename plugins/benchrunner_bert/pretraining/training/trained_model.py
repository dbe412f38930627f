"""The base class of models in pre-training: what is trained, logged and exported."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchrunner.engine import flat_batch
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.elmo.configuration import ElmoConfiguration
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch
from benchrunner_bert.pretraining.objectives import Objective
from benchrunner_bert.pretraining.training.sums import Sums
from benchrunner_bert.tokenizer import BertTokenizer

_MANY = 2048
"""Number of rows from which `rounding` gives its largest multiple, 64."""


class TrainedModel(nn.Module, ABC):
    """An encoder with the heads of its objective."""

    objective: Objective
    tag: str
    """Tag of the model card, by which the hub finds the model."""
    has_positions: bool = True
    """Whether the model has position embeddings."""
    precision: str = "fp32"
    """Precision of matrix products: `Settings.precision`."""
    casts_together: bool = False
    """Whether one kernel casts the weights of all layers: see `Encoder.cast_together`. Not at ZeRO's stages 1 to 3."""

    @property
    @abstractmethod
    def config(self) -> Configuration | ElmoConfiguration:
        """The configuration of the encoder."""

    @property
    @abstractmethod
    def tokenizer(self) -> BertTokenizer:
        """The tokenizer of the encoder."""

    def forward(self, batch: PretrainingBatch) -> Sums:
        """Compute the sums of losses and hits over a batch, in the model's precision.

        Autocast begins here and not around DeepSpeed's engine, since the engine ends a CUDA autocast around it
        (`autocast_if_enabled` of DeepSpeed 0.19).
        """
        if self.precision == "fp32":
            return self.sums(batch)
        with torch.autocast(batch.flat.tokens.device.type, torch.bfloat16), self.casting():
            return self.sums(batch)

    def casting(self) -> AbstractContextManager[None]:
        """Give the context in which layers find weights that are cast already, if `casts_together` asks for it."""
        return nullcontext()

    @abstractmethod
    def sums(self, batch: PretrainingBatch) -> Sums:
        """Compute the sums of losses and hits over a batch, in the precision of a surrounding autocast."""

    def logits(self, head: nn.Module, states: torch.Tensor) -> torch.Tensor:
        """Turn states of the predicted tokens (P, H) into logits (P, V).

        The head computes a round number of rows: oneDNN compiles and keeps a product in half precision for each number
        of rows, and the number of predicted tokens differs from step to step.
        """
        rows = len(states)
        filling = -rows % flat_batch.rounding(self.precision, _MANY)
        logits: torch.Tensor = head(functional.pad(states, (0, 0, 0, filling)))
        return logits[:rows]

    @abstractmethod
    def published(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Give everything that was trained, by the names in the model's checkpoint."""

    @abstractmethod
    def published_configuration(self) -> dict[str, Any]:
        """Give the content of config.json of the exported model."""

    @property
    @abstractmethod
    def size(self) -> str:
        """The size of the model, for the table of its card."""

    @abstractmethod
    def introduction(self) -> Iterator[str]:
        """Give the lines of text at the beginning of the model's card."""
