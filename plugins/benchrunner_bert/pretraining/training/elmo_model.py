"""The model of an ELMo's pre-training: two language models that share no weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from benchrunner.engine import randomness
from benchrunner_bert.elmo.checkpoint import OUTPUT
from benchrunner_bert.elmo.configuration import ElmoConfiguration
from benchrunner_bert.elmo.encoder import Elmo, OneWayLstm
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch
from benchrunner_bert.pretraining.objectives import Objective
from benchrunner_bert.pretraining.training import cross_entropy
from benchrunner_bert.pretraining.training.sums import Sums
from benchrunner_bert.pretraining.training.trained_model import TrainedModel
from benchrunner_bert.tokenizer import BertTokenizer


class NextToken(nn.Module):
    """Predicts the token that a direction reads next: its word embeddings as output weights, with a bias.

    The embeddings are the output weights as well (Press & Wolf 2017), as in BERT's head for masked tokens: at these
    widths most weights are embeddings, and each learns from being read and from being predicted.
    """

    def __init__(self, network: OneWayLstm) -> None:
        super().__init__()
        self.output = nn.Linear(network.width, network.embedding.num_embeddings)
        self.output.weight = network.embedding.weight

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Turn states (P, W) into logits (P, V)."""
        logits: torch.Tensor = self.output(states)
        return logits


class ElmoPretrainingModel(TrainedModel):
    """An ELMo with an output layer for each direction.

    The loss is the mean of the left-to-right model plus the mean of the right-to-left model, as in Peters et al. 2018.
    Only the clipping of the gradient's norm is common to the two.
    """

    tag = "elmo"
    has_positions = False

    def __init__(self, elmo: Elmo, objective: Objective) -> None:
        super().__init__()
        self.elmo = elmo
        self.objective = objective
        self.after = NextToken(elmo.left_to_right)
        self.before = NextToken(elmo.right_to_left)

    @classmethod
    def fresh(
        cls, config: ElmoConfiguration, tokenizer: BertTokenizer, objective: Objective, *, seed: int
    ) -> ElmoPretrainingModel:
        """Draw a model from the seed."""
        model = cls(Elmo(config, tokenizer), objective)
        model.elmo.draw(randomness.generator(seed, "pre-training"))
        nn.init.zeros_(model.after.output.bias)
        nn.init.zeros_(model.before.output.bias)
        return model

    @property
    def config(self) -> ElmoConfiguration:
        return self.elmo.config

    @property
    def tokenizer(self) -> BertTokenizer:
        return self.elmo.tokenizer

    def sums(self, batch: PretrainingBatch) -> Sums:
        """Let each position predict the token after it, and the position after it predict this position's token."""
        places = batch.positions
        forward = self._states(self.elmo.left_to_right, batch, places)
        loss_after, right_after = cross_entropy.summed(self.logits(self.after, forward), batch.labels)
        backward = self._states(self.elmo.right_to_left, batch, places + 1)
        words = batch.flat.tokens[places]
        loss_before, right_before = cross_entropy.summed(self.logits(self.before, backward), words)
        count = torch.full((), 2 * len(batch.labels), device=words.device)
        zero = torch.zeros((), device=words.device)
        return Sums(loss_after + loss_before, count, right_after + right_before, zero, zero, zero)

    def _states(self, network: OneWayLstm, batch: PretrainingBatch, places: torch.Tensor) -> torch.Tensor:
        """Compute the last layer's states at some places, with dropout: (P, W)."""
        *_, states = network.states(batch.flat, self.elmo.dropout)
        return batch.flat.dropout(states, self.elmo.dropout, f"output of {network.name}")[places]

    def published(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Give the encoder's weights, and the biases of the output layers."""
        for name, weight in self.elmo.named_parameters():
            yield name, weight.detach()
        yield f"{self.elmo.left_to_right.name}{OUTPUT}", self.after.output.bias.detach()
        yield f"{self.elmo.right_to_left.name}{OUTPUT}", self.before.output.bias.detach()

    def published_configuration(self) -> dict[str, Any]:
        return self.config.as_json()

    @property
    def size(self) -> str:
        cells = f", {self.config.cells} cells" if self.config.cells > self.config.width else ""
        return f"{self.config.layers} layers, {self.config.width} wide in each direction{cells}"

    def introduction(self) -> Iterator[str]:
        yield f"An ELMo of {self.size}, pre-trained by benchrunner on"
        yield f"{self.objective.about}."
        yield "Its weights stay as they are; a model on top reads its layers:"
        yield "`benchrunner compare FOLDER --method features --set features=weighted-sum-with-embeddings --tasks ...`."
        yield ""
        yield "Word pieces take the place of the characters of Peters et al. 2018. Each direction has its own word"
        yield "embeddings, which are also its output weights; the tensors `*.output_bias` are the outputs' biases."
