"""What all BERTs in pre-training have in common, whatever their objective."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from contextlib import AbstractContextManager

import torch

from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import Bert
from benchrunner_bert.pretraining.training.trained_model import TrainedModel
from benchrunner_bert.tokenizer import BertTokenizer
from benchrunner_bert.weight_names import published_weights

NO_POOLER = "Its objective trains no pooler, so the files have none: fine-tuning draws a new pooler."


class TrainedBert(TrainedModel, ABC):
    """A BERT with whatever its objective needs beside it."""

    bert: Bert

    def casting(self) -> AbstractContextManager[None]:
        return self.bert.cast_together() if self.casts_together else super().casting()

    @property
    def config(self) -> Configuration:
        return self.bert.config

    @property
    def tokenizer(self) -> BertTokenizer:
        return self.bert.tokenizer

    @property
    def size(self) -> str:
        return f"{self.config.layers} layers, {self.config.hidden} wide, {self.config.heads} heads"

    @property
    def tags(self) -> tuple[str, ...]:
        return ("benchrunner", "bert")

    def published_encoder(self, *, pooler: bool) -> Iterator[tuple[str, torch.Tensor]]:
        """Give the weights of the encoder by their names in the checkpoint."""
        for name, weight in published_weights(self.bert).items():
            if pooler or not name.startswith("pooler."):
                yield f"bert.{name}", weight

    def opening(self) -> str:
        """Begin the text of the model's card."""
        return f"A BERT of {self.config.layers} layers, {self.config.hidden} wide, pre-trained by benchrunner on"
