"""Check that a backbone keeps its contract: revision, tokens, states of every layer, saving and training."""

from __future__ import annotations

import builtins
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from benchrunner import PluginError, Recipe, Workspace
from benchrunner.engine import Backbone, BackboneFamily, Encoder, Finetune, Sequences
from benchrunner_kit.testing.contract import Faults, found, refuse
from benchrunner_kit.testing.samples import MOOD, Loaded, fit_job, sentences
from benchrunner_kit.testing.state_checks import (
    batch_of,
    check_dropout,
    check_layers,
    check_narrowed,
    check_states,
    compare,
    states,
)
from benchrunner_kit.testing.tokenizer_checks import OTHERS, TEXTS, check_tokenizer

KEPT = ("hidden_size", "max_length", "tokenizer_fingerprint", "summary_place", "summary_head_bias")
"""Attributes of an encoder that must be the same after saving."""


def check_backbone(backbone: Backbone, family: BackboneFamily, workspace: Workspace, folder: Path) -> None:
    """Check that a backbone keeps its contract; raise a `PluginError` that lists every fault, with advice.

    These are compared: two calls of `revision`; two loads with one seed; texts alone with the same texts in a batch, at
    every layer and in the summaries, with and without filling, and twice with one dropout; states with tables of only
    the words in use; pieces with the characters of their texts, with words, and, joined by the frame, with `assemble`;
    the encoder before and after it is saved (below `folder`), weight by weight, and before and after a fit of a few
    steps. If the encoder says what its layers are, initialising a layer must change the weights of this layer alone.
    """
    faults = found("revision", _check_revision(backbone, workspace))
    faults += found("loading the encoder", _check_encoder(backbone, family, workspace, folder))
    refuse(backbone.name, faults)


def _check_revision(backbone: Backbone, workspace: Workspace) -> Faults:
    first = backbone.revision(workspace)
    with _hashing_as_elsewhere():
        second = backbone.revision(workspace)
    if first != second:
        yield (
            "revision differs from call to call, or from process to process: hash the weights, the configuration and "
            "the tokenizer only, and with hashlib"
        )


@contextlib.contextmanager
def _hashing_as_elsewhere() -> Iterator[None]:
    """Let `hash` give other numbers for texts, bytes and tuples, as it does in another process."""
    usual = builtins.hash

    def hash_elsewhere(value: object) -> int:
        is_key = sys._getframe(1).f_code.co_name == "__hash__"  # of a value in a dictionary that was filled before
        return usual(value) ^ (isinstance(value, str | bytes | tuple) and not is_key)

    builtins.hash = hash_elsewhere
    try:
        yield
    finally:
        builtins.hash = usual


def _check_encoder(backbone: Backbone, family: BackboneFamily, workspace: Workspace, folder: Path) -> Faults:
    """Compare two loads, then check the encoder's tokens, its states, saving and a fit."""
    encoder = backbone.load(workspace, seed=0).eval()
    with _hashing_as_elsewhere():
        other = backbone.load(workspace, seed=0).eval()
        fingerprint = other.tokenizer_fingerprint
    if fingerprint != encoder.tokenizer_fingerprint:
        yield "`tokenizer_fingerprint` differs from load to load, or from process to process: make it with hashlib"
    if name := _other_weight(encoder, other):
        yield (
            f"two loads with one seed are two models: the weight '{name}' differs; draw weights that the checkpoint "
            "lacks from the seed"
        )
    yield from check_tokenizer(encoder)
    sequences = encoder.assemble(TEXTS, OTHERS, encoder.max_length)
    faults = found("computing the states of a batch", check_states(encoder, sequences))
    if not faults and not backbone.frozen:
        faults = found("computing states with dropout", check_dropout(encoder, sequences))
    faults += found("computing states with tables of the words in use", check_narrowed(encoder, sequences))
    faults += found("saving and reading", _check_saving(encoder, sequences, family, workspace, folder))
    if not faults and not backbone.frozen:
        faults = found("a fit of a few steps", _check_fit(backbone, family, workspace))
    yield from faults
    yield from found("initialising a layer", check_layers(other))


def _other_weight(encoder: Encoder, other: Encoder) -> str:
    """Name a weight that two encoders do not share; empty if all are equal."""
    weights = dict(encoder.named_parameters())
    others = dict(other.named_parameters())
    if names := sorted(weights.keys() ^ others.keys()):
        return names[0]
    for name, weight in weights.items():
        if not torch.equal(weight, others[name]):
            return name
    return ""


def _check_saving(
    encoder: Encoder, sequences: Sequences, family: BackboneFamily, workspace: Workspace, folder: Path
) -> Faults:
    """Compare the encoder before and after it is saved: as it was loaded, then with other weights."""
    revisions = []
    for name in ("loaded", "again", "changed"):
        if name == "changed":
            source = torch.Generator().manual_seed(0)
            with torch.no_grad():
                for weight in encoder.parameters():
                    weight.add_(0.02 * torch.randn(weight.shape, generator=source, dtype=weight.dtype))
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        encoder.save(place)
        saved = _saved(place, family, workspace)
        revisions.append(saved.revision(workspace))
        yield from _compare_saved(encoder, saved.load(workspace, seed=1).eval(), sequences)
    loaded, again, changed = revisions
    if loaded != again:
        yield "revision differs for two folders with the same files: hash what is in the files, not their places"
    if loaded == changed:
        yield "revision is the same for other weights: hash the weights too, so that no fit is taken for another"


def _saved(folder: Path, family: BackboneFamily, workspace: Workspace) -> Backbone:
    """Return the backbone that was saved in a folder."""
    saved = family.find(str(folder), workspace)
    if saved is None:
        raise PluginError("the family does not find the folder that its own encoder saved: look for `save`'s files")
    return saved


def _compare_saved(encoder: Encoder, read: Encoder, sequences: Sequences) -> Faults:
    """Compare an encoder with itself after saving: attributes, weights, tokens, then the states of every layer."""
    if name := _other_weight(encoder, read):
        raise PluginError(
            f"saved and read again, the encoder is another model: the weight '{name}' is not the same; write every "
            "weight in `save`, and read every weight in `load`"
        )
    for name in KEPT:
        if getattr(encoder, name) != getattr(read, name):
            yield f"saved and read again, the encoder has another `{name}`: write it in `save`"
    for second in (None, OTHERS):
        made, remade = (each.assemble(TEXTS, second, encoder.max_length).tokens for each in (encoder, read))
        if not np.array_equal(made, remade):
            yield "saved and read again, the encoder makes other tokens of texts: write the tokenizer in `save`"
            return
    before, after = (states(each, batch_of(sequences)) for each in (encoder, read))
    advice = "write the configuration, and tensors that are no parameters, too"
    yield from compare(before, after, "the same weights, saved and read again,", advice, tolerance=0)


def _check_fit(backbone: Backbone, family: BackboneFamily, workspace: Workspace) -> Faults:
    """Compare an encoder that was fitted with the one that is read from the folder of the fit, by their predictions.

    The fit takes a few steps and trains all weights.
    """
    import pyarrow as pa

    with tempfile.TemporaryDirectory() as name:
        table = pa.table(sentences(16))
        method = Finetune()
        loaded = Loaded(backbone.load(workspace, seed=0))
        recipe = Recipe(lr=1e-3, epochs=2, batch_size=8)
        job = fit_job(method, MOOD, table, loaded, workspace, Path(name), recipe)
        outcome = method.fit(job)
        if outcome.status != "done":
            raise PluginError(f"a fit with '{method.name}' on {len(table)} sentences ends early: {outcome.reason}")
        saved = _saved(job.model, family, workspace)
        trained, read = (method.predict(replace(job, backbone=model), table) for model in (loaded, saved))
        if not np.array_equal(trained, read):
            yield "fitted, saved and read again, the encoder is another model: `save` does not write what changed"
