"""What a recipe asks of the layers of an encoder: learning rates by depth, and layers that are initialised again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner.backbones.backbone import check_redrawn
from benchrunner.features.randomness import generator

if TYPE_CHECKING:
    from benchrunner.backbones.encoder import Encoder


def learning_rates(encoder: Encoder, decay: float) -> Iterator[tuple[str, float]]:
    """Give the factor of the learning rate of each weight of an encoder, by the weight's name.

    The formula is that of ELECTRA's released code (Clark et al. 2020, `optimization.py`): in an encoder of L layers, a
    weight of depth d has the factor decay ** (L + 2 - d). Embeddings have the depth 0, the lowest layer 1 and the
    highest L. The head has the depth L + 2, which is the whole rate; so have the encoder's fresh modules. ELECTRA has
    no pre-trained weights between the highest layer and the head; a pooler gets the depth between them, L + 1.
    """
    if decay == 1:
        return
    head_depth, weights = len(encoder.layers) + 2, dict(encoder.named_parameters())
    fresh = {weight for module in encoder.fresh_modules for weight in module.parameters()}
    for name, depth in encoder.depths().items():
        yield name, 1.0 if weights[name] in fresh else decay ** (head_depth - depth)


def redraw(encoder: Encoder, count: int, *, seed: int) -> None:
    """Initialise the highest `count` layers and the weights of the summary again (Zhang et al. 2021).

    The weights of a layer depend on the seed and the layer, but not on `count`.
    """
    if not count:
        return
    layers = len(encoder.layers)
    check_redrawn(count, layers)
    for index in range(layers - count, layers):
        encoder.draw_layer(index, generator(seed, "layer", index))
    encoder.draw_summary(generator(seed, "summary"))
