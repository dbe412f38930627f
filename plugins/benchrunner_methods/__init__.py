"""More methods for benchrunner: frozen features, BiLSTM heads, LoRA, DoRA, probes, SetFit and cosines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import Commands, hookimpl

if TYPE_CHECKING:
    from benchrunner.engine import Encoder, Job, Method, heads

__all__ = ["register_commands", "register_methods"]


@hookimpl
def register_methods() -> Iterator[Method]:
    from benchrunner.engine import Finetune
    from benchrunner_methods.cosine import Cosine
    from benchrunner_methods.frozen_features import FrozenFeatures
    from benchrunner_methods.lora import dora, lora
    from benchrunner_methods.probing.probe import Probe
    from benchrunner_methods.setfit import SetFit

    yield Finetune(
        "finetune+bilstm",
        "train all weights with a two-layer BiLSTM on top",
        _bilstm,
        exports=False,
        recipe_fields=("bilstm_width", "layer_decay", "redraw_layers"),
    )
    yield lora()
    yield dora()
    yield FrozenFeatures()
    yield Probe()
    yield SetFit()
    yield Cosine()


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "write a vector of each text, or of each token, to a Parquet file"
    cli.add_parser("vectors", group="look", help=about, module="benchrunner_methods.texts.vectors_command")
    about = "show the pieces of a text, and what is cut"
    cli.add_parser("tokens", group="look", help=about, module="benchrunner_methods.texts.tokens_command")


def _bilstm(encoder: Encoder, job: Job) -> heads.Head:
    from benchrunner_methods.recurrent_heads import bilstm_head  # with torch, which loads slowly

    return bilstm_head(encoder, job)
