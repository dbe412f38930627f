"""The layers of pre-training that predict tokens, and their weights in published checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn

from benchrunner import RequestError
from benchrunner.engine import randomness
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import ACTIVATIONS, Bert, draw_weight
from benchrunner_checkpoints import tensor_files

PUBLISHED = {"dense": "cls.predictions.transform.dense", "norm": "cls.predictions.transform.LayerNorm"}
"""Our module -> the published module. The weight of the output layer is that of the word embeddings, written once."""
_OTHER_NAMES = {
    "output.weight": ("cls.predictions.decoder.weight",),
    "output.bias": ("cls.predictions.bias", "cls.predictions.decoder.bias"),
    "norm.weight": ("cls.predictions.transform.LayerNorm.gamma",),
    "norm.bias": ("cls.predictions.transform.LayerNorm.beta",),
}
"""Our weight -> its further names in published checkpoints."""


class TokenHead(nn.Module):
    """Predicts tokens: a transform of the state, then the word embeddings as output weights, with their own bias."""

    mask: int | None = None
    """Id of the token that stands for a token to predict; None if the state of a token predicts the next token."""

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        config = bert.config
        self.activation = ACTIVATIONS[config.activation]
        self.dense = nn.Linear(config.hidden, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.epsilon)
        self.output = nn.Linear(config.hidden, config.vocabulary)
        self.output.weight = bert.embeddings.word.weight

    def draw(self, config: Configuration, source: torch.Generator) -> None:
        """Initialise all weights but the word embeddings."""
        draw_weight(self.dense.weight, config, source)
        nn.init.ones_(self.norm.weight)
        for bias in (self.dense.bias, self.norm.bias, self.output.bias):
            nn.init.zeros_(bias)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Turn states of the predicted tokens (P, H) into logits (P, V)."""
        logits: torch.Tensor = self.output(self.norm(self.activation(self.dense(states))))
        return logits


def published_head(bert: Bert, path: Path, weights: Mapping[str, torch.Tensor] | None = None) -> TokenHead:
    """Make the token head of a model with given weights, or else with those in the checkpoint's file of weights."""
    return _with_weights(bert, _read_weights(path) if weights is None else weights)


def fresh_head(bert: Bert, weights: Mapping[str, torch.Tensor] | None = None) -> TokenHead:
    """Make the token head of a model with given weights, or else with drawn ones: the same each time."""
    if weights is None:
        head = TokenHead(bert)
        head.draw(bert.config, randomness.generator(0, "random token head"))
        weights = head.state_dict()
    return _with_weights(bert, weights)


def _read_weights(path: Path) -> dict[str, torch.Tensor]:
    """Read the weights of a checkpoint's token head in fp32, by our names; those that it lacks are left out."""
    tensors = tensor_files.read_tensors(path)
    weights = dict[str, torch.Tensor]()
    for ours in ("dense.weight", "dense.bias", "norm.weight", "norm.bias", "output.weight", "output.bias"):
        module, _, kind = ours.partition(".")
        for name in (f"{PUBLISHED.get(module)}.{kind}", *_OTHER_NAMES.get(ours, ())):
            if name in tensors:
                weights[ours] = tensors[name].to(torch.float32)
                break
    return weights


def _with_weights(bert: Bert, weights: Mapping[str, torch.Tensor]) -> TokenHead:
    """Make the token head of a model with given weights; without an output weight, it is that of the word embeddings.

    Raises a `RequestError` if a weight is missing or has another shape, or if no token can be predicted.
    """
    head = TokenHead(bert)
    complete = {"output.weight": bert.embeddings.word.weight.detach(), **weights}
    for name, weight in head.state_dict().items():
        if name not in complete:
            raise RequestError("the checkpoint has no head that predicts tokens (cls.predictions)")
        shape, expected = tuple(complete[name].shape), tuple(weight.shape)
        if shape != expected:
            raise RequestError(f"{name} of the head that predicts tokens is {shape}, where {expected} was expected")
    head.load_state_dict(complete, assign=True)
    if bert.config.direction == "both":
        head.mask = bert.tokenizer.mask
        if head.mask is None:
            raise RequestError("its vocabulary has no token [MASK]")
    return head
