"""The layers of an encoder: depths of weights, single layers drawn again, and encoders that do not know theirs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch
from torch import nn

from benchrunner.backbones.encoder import Encoder, ExportedHead
from benchrunner.errors import RequestError
from benchrunner.features.arrays import Sequences
from benchrunner.features.flat_batch import FlatBatch
from benchrunner_kit.testing import TinyEncoder

DEPTHS = {"word": 0, "position": 0, "qkv": 1, "norm": 1, "dense": 2}
"""Module of the tiny encoder -> depth of its weights."""


class Plain(Encoder):
    """An encoder that offers nothing beyond the abstract methods."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden_size, self.max_length, self.dropout, self.tokenizer_fingerprint = 2, 8, 0.0, "none"

    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        raise NotImplementedError

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        raise NotImplementedError

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        raise NotImplementedError

    def save(self, folder: Path, head: ExportedHead | None = None) -> None:
        raise NotImplementedError


class Listed(Plain):
    """An encoder that keeps its layers as `self.layers`, and has an embedding behind them."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Linear(2, 2)
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)])  # type: ignore[assignment, misc]
        self.distances = nn.Embedding(3, 2)
        self.last = nn.LayerNorm(2)


def weights(encoder: Encoder) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in encoder.named_parameters()}


def changed(encoder: Encoder, before: dict[str, torch.Tensor]) -> set[str]:
    """Name the modules whose weights differ from earlier weights."""
    differing = (name for name, weight in encoder.named_parameters() if not torch.equal(weight, before[name]))
    return {name.rpartition(".")[0] for name in differing}


def source(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_depths_rise_from_the_embeddings_to_the_summary() -> None:
    encoder = TinyEncoder()
    assert encoder.depths() == {name: DEPTHS[name.split(".")[0]] for name, _ in encoder.named_parameters()}


def test_an_attribute_layers_is_the_default_of_the_layers() -> None:
    encoder = Listed()
    assert [id(layer) for layer in encoder.layers] == [
        id(layer) for layer in encoder.get_submodule("layers").children()
    ]
    modules = {name.rpartition(".")[0]: depth for name, depth in encoder.depths().items()}
    assert modules == {"scale": 0, "layers.0": 1, "layers.1": 2, "layers.2": 3, "distances": 0, "last": 4}


def test_a_layer_and_the_summary_are_drawn_alone_from_the_source() -> None:
    encoder, again = TinyEncoder(), TinyEncoder()
    before = weights(encoder)
    encoder.draw_layer(0, source())
    assert changed(encoder, before) == {"qkv", "norm"}
    encoder.draw_summary(source())
    assert changed(encoder, before) == {"qkv", "norm", "dense"}
    again.draw_layer(0, source())
    again.draw_summary(source())
    assert not changed(encoder, weights(again))
    again.draw_layer(0, source(2))
    assert changed(encoder, weights(again)) == {"qkv", "norm"}


def test_an_encoder_that_does_not_know_its_layers_says_so() -> None:
    with pytest.raises(RequestError, match=r"Plain does not say which of its modules are layers.*Leave them out"):
        Plain().depths()
    with pytest.raises(RequestError, match=r"Listed cannot initialise single layers.*redraw-layers"):
        Listed().draw_layer(0, source())
    with pytest.raises(RequestError, match="Listed cannot initialise the weights above its layers"):
        Listed().draw_summary(source())


def test_without_weights_above_the_layers_nothing_is_drawn() -> None:
    encoder = Listed()
    del encoder.last
    before = weights(encoder)
    encoder.draw_summary(source())
    assert not changed(encoder, before)
