"""The layers of a model of the library: find them, and draw their weights anew."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import nn

from benchrunner import RequestError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


_BELOW = re.compile(r"model\.encoder\.(LayerNorm|conv)\.|model\.(decoder|encoder)\.layernorm_embedding\.")
"""Names of weights that stand after the lowest layers in the list of modules, but are used below or between them.

They are DeBERTa's norm of its table of relative positions and its convolution, and the norms of BART's embeddings.
"""


def is_below(name: str) -> bool:
    """Whether a weight of the encoder counts as an embedding, although it is registered after the layers."""
    return bool(_BELOW.match(name))


def layers_of(model: PreTrainedModel) -> Sequence[nn.Module]:
    """Find the layers, the lowest first: the encoder's, then the decoder's.

    Return none if the layers have no weights of their own, as in ALBERT, or if there is no list of all layers.
    """
    config = model.config.get_text_config()
    count = int(getattr(config, "num_hidden_layers", 0))
    if not getattr(config, "is_encoder_decoder", False):
        return _list_of(model, count)
    counts = {"encoder": count, "decoder": getattr(config, "decoder_layers", getattr(config, "num_decoder_layers", 0))}
    parts = {name: part for name in counts if (part := getattr(model, name, None)) is not None}
    return [layer for name, part in parts.items() for layer in _list_of(part, counts[name])] or _list_of(model, count)


def no_layers(model: PreTrainedModel) -> RequestError:
    """Make the error for options that treat layers differently, of a model without layers of its own."""
    return RequestError(
        f"{type(model).__name__} has no layers with weights of their own, so that this backbone cannot be fitted with "
        "the options layer-decay and redraw-layers. Leave them out."
    )


def repeated(model: PreTrainedModel) -> list[nn.Module]:
    """Return the modules in the outermost lists of modules, whose activations can be computed again one by one.

    Unlike `layers_of`, this includes layers that all depths share, as in ALBERT, and lists of any length.
    """
    repeated_modules = list[nn.Module]()

    def collect(module: nn.Module, *, is_in_list: bool) -> None:
        is_list = isinstance(module, nn.ModuleList)
        if is_in_list and not is_list:
            repeated_modules.append(module)
            return
        for child in module.children():
            collect(child, is_in_list=is_list)

    collect(model, is_in_list=False)
    return repeated_modules


@torch.no_grad()
def draw(model: PreTrainedModel, layer: nn.Module, source: torch.Generator) -> None:
    """Draw the weights of a layer as the library draws those of a model without pre-training."""
    for weight in layer.parameters():
        weight._is_hf_initialized = False  # type: ignore[attr-defined]  # the library draws no other weight
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**62, (), generator=source)))
        layer.apply(model._init_weights)


def _list_of(module: nn.Module, count: int) -> list[nn.Module]:
    """Return the outermost list of `count` modules of one class."""
    for part in module.modules():
        if isinstance(part, nn.ModuleList) and len(part) == count and len(set(map(type, part))) == 1:
            return list(part)
    return []
