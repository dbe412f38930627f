"""The layers of a BERT: their depths, and single layers that are drawn again."""

from __future__ import annotations

import torch
from bert_samples import fresh


def test_depths_rise_from_the_embeddings_to_the_pooler() -> None:
    model = fresh(layers=3)
    prefixes = {"embeddings.": 0, "layers.0.": 1, "layers.1.": 2, "layers.2.": 3, "pooler.": 4}
    for name, depth in model.depths().items():
        assert [expected for prefix, expected in prefixes.items() if name.startswith(prefix)] == [depth]
    assert model.depths().keys() == dict(model.named_parameters()).keys()


def test_a_layer_and_the_pooler_are_drawn_alone() -> None:
    model, before = fresh(), fresh().state_dict()
    model.draw_layer(1, torch.Generator().manual_seed(1))
    model.draw_summary(torch.Generator().manual_seed(2))
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, before[name]) != name.startswith(("layers.1.", "pooler.")), name
    layer = model.layers[1]
    matrix = layer.get_parameter("inner.weight")
    assert abs(matrix.std().item() - 0.02 * 0.88) < 0.002, "the deviation of a normal distribution cut at two of it"
    assert not layer.get_parameter("inner.bias").any() and not model.pooler.bias.any()
    assert torch.equal(layer.get_parameter("output_norm.weight"), torch.ones(48))
