"""More methods for benchrunner: frozen features, BiLSTM heads, LoRA and probes; and backbones side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import hookimpl
from benchrunner.engine import BackboneFamily, Finetune, Job, Method
from benchrunner_methods.concatenation import ConcatenatedFamily
from benchrunner_methods.frozen_features import FrozenFeatures
from benchrunner_methods.lora import Lora
from benchrunner_methods.probing.probe import Probe

if TYPE_CHECKING:
    from benchrunner.engine import Encoder, heads

__all__ = ["ConcatenatedFamily", "FrozenFeatures", "Lora", "Probe", "register_backbones", "register_methods"]


@hookimpl
def register_methods() -> Iterator[Method]:
    yield Finetune(
        "finetune+bilstm",
        "train all weights with a two-layer BiLSTM on top",
        _bilstm,
        exports=False,
        recipe_fields=("bilstm_width", "layer_decay", "redraw_layers"),
    )
    yield Lora()
    yield FrozenFeatures()
    about = "frozen encoder, its layers into a BiLSTM with attention between the texts of a pair"
    yield FrozenFeatures("features+attention", about, reader="attention")
    yield Probe()


@hookimpl
def register_backbones() -> Iterator[BackboneFamily]:
    yield ConcatenatedFamily()


def _bilstm(encoder: Encoder, job: Job) -> heads.Head:
    from benchrunner_methods.recurrent_heads import bilstm_head  # with torch, which loads slowly

    return bilstm_head(encoder, job)
