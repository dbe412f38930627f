"""What the tests of ELMo share: small encoders, ragged batches, and LSTM cells written by hand."""

from __future__ import annotations

import numpy as np
import torch
from bert_samples import FIRST, SECOND

from benchrunner.engine import Features, FlatBatch, collate
from benchrunner.features.randomness import generator
from benchrunner_bert.backbones import VOCABULARY
from benchrunner_bert.elmo.configuration import ElmoConfiguration
from benchrunner_bert.elmo.encoder import Elmo, OneWayLstm
from benchrunner_bert.tokenizer import BertTokenizer

SHAPES = ("1/8", "2/8", "3/8/20")
"""Sizes of one layer, of a layer with a residual connection, and of projected cells."""


def elmo(size: str, vocabulary: int = 8000) -> Elmo:
    """Make an encoder with drawn weights, biases included."""
    encoder = Elmo(
        ElmoConfiguration.of_size(size, vocabulary), BertTokenizer.from_vocabulary(VOCABULARY, lowercase=True)
    )
    encoder.draw(generator(7, "elmo"))
    with torch.no_grad():
        for name, weight in encoder.named_parameters():
            weight.add_(0.3 * torch.randn(weight.shape, generator=generator(7, name)))
    return encoder.eval()


def ragged(encoder: Elmo, *, texts: int = len(FIRST), multiple: int = 1) -> FlatBatch:
    """Collate pairs of texts of many lengths."""
    features = Features.of(encoder.assemble(FIRST[:texts], SECOND[:texts], 64))
    return collate(features, np.arange(features.units), torch.device("cpu"), multiple=multiple)


def plain_states(encoder: Elmo, tokens: torch.Tensor) -> list[torch.Tensor]:
    """Compute all layers of one sequence with cells written by hand, reading its tokens one by one."""
    forward = _one_way(encoder.left_to_right, tokens)
    backward = [states.flip(0) for states in _one_way(encoder.right_to_left, tokens.flip(0))]
    return [torch.cat(pair, dim=1) for pair in zip(forward, backward, strict=True)]


def _one_way(model: OneWayLstm, tokens: torch.Tensor) -> list[torch.Tensor]:
    layers = [model.embedding.weight[tokens]]
    for number, lstm in enumerate(model.layers):
        weights = dict(lstm.named_parameters())
        outputs = _read(layers[-1], weights)
        layers.append(outputs + layers[-1] if number else outputs)
    return layers


def _read(inputs: torch.Tensor, weights: dict[str, torch.Tensor]) -> torch.Tensor:
    """Apply one LSTM layer: gates in the order input, forget, cell, output (Sak et al. 2014 for the projection)."""
    projection = weights.get("weight_hr_l0")
    output = torch.zeros(1, weights["weight_hh_l0"].shape[1])
    memory = torch.zeros(1, weights["weight_ih_l0"].shape[0] // 4)
    outputs = []
    for token in inputs[:, None]:
        gates = token @ weights["weight_ih_l0"].T + weights["bias_ih_l0"]
        gates = gates + output @ weights["weight_hh_l0"].T + weights["bias_hh_l0"]
        entry, keep, candidate, exposed = gates.chunk(4, dim=1)
        memory = keep.sigmoid() * memory + entry.sigmoid() * candidate.tanh()
        output = exposed.sigmoid() * memory.tanh()
        if projection is not None:
            output = output @ projection.T
        outputs.append(output)
    return torch.cat(outputs)
