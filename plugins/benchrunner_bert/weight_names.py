"""Names of BERT's weights: those of our modules, and the published names of the same weights in a checkpoint."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import torch
from torch import nn

_PUBLISHED_MODULES = {
    "embeddings.word": "embeddings.word_embeddings",
    "embeddings.position": "embeddings.position_embeddings",
    "embeddings.segment": "embeddings.token_type_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
    "attention_output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "output": "output.dense",
    "output_norm": "output.LayerNorm",
    "pooler": "pooler.dense",
}
"""Our module -> the published module; modules of a layer are named without the layer."""

_HEADS = re.compile(r"^(cls|classifier|qa_outputs|logits_proj|seq_relationship)\.")
"""Weights of heads, which checkpoints hold beside those of the encoder."""
_BUFFERS = {"embeddings.position_ids", "embeddings.token_type_ids"}
"""Constants that old versions of other libraries stored beside the weights."""


def published_names(model: nn.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give each of our parameters with the published names that make it up, in order."""
    for name, _ in model.named_parameters():
        module, _, kind = name.rpartition(".")
        if module.startswith("layers."):
            _, index, part = module.split(".", 2)
            layer = f"encoder.layer.{index}"
            if part == "qkv":
                yield name, tuple(f"{layer}.attention.self.{matrix}.{kind}" for matrix in ("query", "key", "value"))
            else:
                yield name, (f"{layer}.{_PUBLISHED_MODULES[part]}.{kind}",)
        else:
            yield name, (f"{_PUBLISHED_MODULES[module]}.{kind}",)


def published_weights(model: nn.Module) -> dict[str, torch.Tensor]:
    """Give all weights of an encoder by their published names, without a prefix."""
    parameters = dict(model.named_parameters())
    return {
        name: part.contiguous()
        for ours, published in published_names(model)
        for name, part in zip(published, parameters[ours].detach().chunk(len(published)), strict=True)
    }


def encoder_weights(tensors: Mapping[str, torch.Tensor]) -> tuple[dict[str, torch.Tensor], list[str]]:
    """Separate a checkpoint's tensors: the encoder's by today's names without a prefix, and the names of heads."""
    weights = {}
    heads = []
    for name, tensor in tensors.items():
        if _HEADS.match(name):
            heads.append(name)
            continue
        name = name.removeprefix("bert.")
        if name in _BUFFERS:
            continue
        name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
        name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
        weights[name] = tensor
    return weights, heads
