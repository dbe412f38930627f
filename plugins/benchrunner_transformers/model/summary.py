"""The summary of a sequence: the layers that the published architecture has between encoder and output layer."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Self, final

import torch
from torch import nn

from benchrunner.engine import FlatBatch
from benchrunner_transformers.checkpoint.published_heads import (
    BASE,
    Kind,
    PublishedHead,
    made_on_meta,
    output_layer,
    published_class,
    published_head,
)

if TYPE_CHECKING:
    from transformers import PreTrainedConfig


@final
class Summary(nn.Module):
    """The state of a token, or the mean of all states, and the layers that the published architecture has above it."""

    def __init__(self, head: PublishedHead, dense: nn.Linear | None, norm: nn.Module | None, deviation: float) -> None:
        """Take the layers. `deviation` is the standard deviation of fresh weights."""
        super().__init__()
        self.head = head
        self.dense = dense
        self.norm = norm
        self.deviation = deviation
        self.activation: nn.Module = nn.Identity()
        self.prepare_for(None)
        self.output_bias = True
        """Whether the published output layer on the summary has a bias."""
        self.is_fresh = True
        """Whether no checkpoint gave the weights."""
        self.base_name = ""
        """Name of the base model in the published class."""

    @classmethod
    def of(cls, config: PreTrainedConfig, *, otherwise: Literal["first", "last"]) -> Self:
        """Make the summary of a configuration's family, with weights that are not initialised.

        `otherwise` is the token that is read if the library publishes no architecture of the family, or if this plugin
        does not know it.
        """
        head = published_head(config, otherwise=otherwise)
        deviation = float(getattr(config.get_text_config(), "initializer_range", None) or 0.02)
        model_class = published_class(config, "SEQUENCE_CLASSIFICATION")
        if model_class is None:
            return cls(head, None, None, deviation)
        config = copy.deepcopy(config)
        config.num_labels = _LABELS
        model = made_on_meta(model_class, config)
        base = f"{model.base_model_prefix}."
        modules = {name: module for name, module in model.named_modules() if name}
        dense = modules.get(head.dense.replace(BASE, base))
        norm = modules.get(head.norm.replace(BASE, base))
        assert dense is None or isinstance(dense, nn.Linear)
        summary = cls(head, dense, norm, deviation)
        summary.to_empty(device="cpu")
        summary.base_name = model.base_model_prefix
        output = modules.get(output_layer(model, _LABELS, head))
        summary.output_bias = getattr(output, "bias", None) is not None if output is not None else True
        return summary

    def prepare_for(self, kind: Kind | None) -> None:
        """Choose the activation of the published class for heads of a kind; None for the class for sentences."""
        from transformers.activations import ACT2FN

        name = (kind == "MULTIPLE_CHOICE" and self.head.choice_activation) or self.head.activation
        self.activation = ACT2FN[name] if name and self.dense is not None else nn.Identity()

    @torch.no_grad()
    def draw(self, source: torch.Generator) -> None:
        """Initialise all weights: matrices from a truncated normal distribution, biases with 0, norms with 1."""
        if self.dense is not None:
            limit = 2 * self.deviation
            nn.init.trunc_normal_(self.dense.weight, std=self.deviation, a=-limit, b=limit, generator=source)
        for module in (self.dense, self.norm):
            if module is not None and isinstance(bias := module.bias, torch.Tensor):
                nn.init.zeros_(bias)
        if self.norm is not None and isinstance(weight := self.norm.weight, torch.Tensor):
            nn.init.ones_(weight)

    @torch.no_grad()
    def take(self, weights: Mapping[str, torch.Tensor], *, choice: bool = False) -> set[str]:
        """Take over trained weights by their names in published checkpoints, or as a fit saved them, if all fit.

        `choice` says whether the checkpoint is of the class for choices. Return the names that were taken; empty if a
        weight is missing or has another shape.
        """
        places = dict[str, torch.Tensor]()
        for own, weight in self.state_dict().items():
            published = self._published(own, choice=choice)
            for name in (f"summary.{own}", published, published.removeprefix(f"{self.base_name}.")):
                if name in weights and weights[name].shape == weight.shape:
                    places[name] = weight
                    break
            else:
                return set()
        for name, weight in places.items():
            weight.copy_(weights[name])
        self.is_fresh = False
        return set(places)

    def published_weights(self, *, choice: bool = False) -> dict[str, torch.Tensor]:
        """Return the weights by their names in the published class for sequences, or for choices."""
        return {self._published(own, choice=choice): weight for own, weight in self.state_dict().items()}

    def forward(self, hidden: torch.Tensor, batch: FlatBatch, rate: float) -> torch.Tensor:
        """Compute the summaries: (T, H) -> (N, H). `rate` is the rate of dropout below the dense layer."""
        if self.head.token == "mean of layers":
            return _means(self.of_states(hidden, batch, rate), batch)
        tokens = self.tokens(batch)
        states = _means(hidden, batch) if tokens is None else hidden.index_select(0, tokens)
        return self.of_states(states, batch, rate)

    def tokens(self, batch: FlatBatch) -> torch.Tensor | None:
        """Return the index of the token that is read in each sequence, (N,); None if all tokens are read."""
        if self.head.token == "first":
            return batch.starts[:-1]
        return batch.starts[1:] - 1 if self.head.token == "last" else None

    def of_tokens(self, hidden: torch.Tensor, batch: FlatBatch, rate: float) -> torch.Tensor:
        """Compute what the published output layer for tokens reads: (T, H) -> (T, H)."""
        return self.of_states(hidden, batch, rate) if self.head.for_tokens else hidden

    def of_states(self, states: torch.Tensor, batch: FlatBatch, rate: float) -> torch.Tensor:
        """Apply the layers above the model to states that have been read: (N, H) -> (N, H)."""
        if self.dense is None:
            return states
        if self.head.drops_input:
            states = batch.dropout(states, rate, "summary")
        states = self.activation(self.dense(states))
        return states if self.norm is None else self.norm(states)

    def _published(self, own: str, *, choice: bool = False) -> str:
        layer, _, kind = own.rpartition(".")
        name = (choice and self.head.choice_dense) or self.head.dense if layer == "dense" else self.head.norm
        return f"{name.replace(BASE, f'{self.base_name}.')}.{kind}"


_LABELS = 3
"""A number of labels that no other layer of a published class has as its width."""


def _means(hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
    """Average the states of each sequence, in fp32: a mean in half precision would lose bits."""
    means = list[torch.Tensor]()
    for block in batch.blocks:
        states = hidden[block.start : block.stop].float()
        means.append(states.view(block.count, block.length, -1).mean(1))
    return torch.cat(means).to(hidden.dtype)
