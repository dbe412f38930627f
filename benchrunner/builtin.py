"""Plugin of the core: the built-in methods and the local executor, registered through the same hooks as others."""

from __future__ import annotations

from collections.abc import Iterator

from benchrunner.fits.executor import Executor
from benchrunner.methods.finetune import ENCODER_FIELDS, Finetune
from benchrunner.methods.frozen_features import FrozenFeatures
from benchrunner.methods.lora import Lora
from benchrunner.methods.majority import Majority
from benchrunner.methods.method import Method
from benchrunner.methods.probing.probe import Probe
from benchrunner.plugins.hookspecs import hookimpl
from benchrunner.runs.local_executor import Local


@hookimpl
def register_methods() -> Iterator[Method]:
    yield Finetune()
    about = "train all weights with a two-layer BiLSTM on top"
    yield Finetune("finetune+bilstm", about, "bilstm", exports=False, recipe_fields=("bilstm_width", *ENCODER_FIELDS))
    yield Lora()
    yield FrozenFeatures()
    about = "frozen encoder, its layers into a BiLSTM with attention between the texts of a pair"
    yield FrozenFeatures("features+attention", about, reader="attention")
    yield Probe()
    yield Majority()


@hookimpl
def register_executors() -> Iterator[Executor]:
    yield Local()
