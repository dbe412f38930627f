"""Check that a backbone keeps its contract: revision, tokens, states of every layer, saving and training."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from benchrunner import Recipe, Workspace
from benchrunner.engine import Backbone, BackboneFamily, Encoder, Finetune, Sequences
from benchrunner_kit.testing.contract import Findings, hashing_as_elsewhere
from benchrunner_kit.testing.samples import MOOD, Loaded, fit_job, sentences
from benchrunner_kit.testing.state_checks import (
    batch_of,
    check_dropout,
    check_layers,
    check_narrowed,
    check_states,
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
    findings = Findings(backbone.name)
    with findings.step("revision"):
        first = backbone.revision(workspace)
        with hashing_as_elsewhere():
            if first != backbone.revision(workspace):
                findings.add(
                    "revision differs from call to call, or from process to process: hash the weights, the "
                    "configuration and the tokenizer only, and with hashlib"
                )
    encoder = other = None
    with findings.step("to load the encoder"):
        encoder = backbone.load(workspace, seed=0).eval()
        fingerprint = encoder.tokenizer_fingerprint
        with hashing_as_elsewhere():
            other = backbone.load(workspace, seed=0).eval()
            if other.tokenizer_fingerprint != fingerprint:
                findings.add(
                    "`tokenizer_fingerprint` differs from load to load, or from process to process: make it with "
                    "hashlib, not with `hash`"
                )
    if encoder is not None and other is not None:
        _check_loads(encoder, other, findings)
        check_tokenizer(encoder, findings)
        with findings.step("to assemble sequences"):
            sequences = encoder.assemble(TEXTS, OTHERS, encoder.max_length)
            check_states(encoder, sequences, findings)
            check_narrowed(encoder, sequences, findings)
            if not findings.faults and not backbone.frozen:
                check_dropout(encoder, sequences, findings)
            _check_saving(encoder, sequences, family, workspace, folder, findings)
            if not findings.faults and not backbone.frozen:
                _check_fit(backbone, family, workspace, findings)
            check_layers(other, findings)
    findings.refuse()


def _check_loads(encoder: Encoder, other: Encoder, findings: Findings) -> None:
    """Compare the weights of two loads with one seed."""
    if name := _other_weight(encoder, other):
        findings.add(
            f"two loads with one seed are two models: the weight '{name}' differs; draw weights that the checkpoint "
            "lacks from the seed"
        )


def _other_weight(encoder: Encoder, other: Encoder) -> str:
    """Name a weight that two encoders do not share; empty if all are equal."""
    weights = dict(encoder.named_parameters())
    others = dict(other.named_parameters())
    if names := sorted(weights.keys() ^ others.keys()):
        return names[0]
    return next((name for name, weight in weights.items() if not torch.equal(weight, others[name])), "")


def _check_saving(
    encoder: Encoder,
    sequences: Sequences,
    family: BackboneFamily,
    workspace: Workspace,
    folder: Path,
    findings: Findings,
) -> None:
    """Compare the encoder before and after it is saved: as it was loaded, then with other weights."""
    revisions: dict[str, str] = {}
    for name in ("loaded", "again", "changed"):
        if name == "changed":
            source = torch.Generator().manual_seed(0)
            with torch.no_grad():
                for weight in encoder.parameters():
                    weight.add_(0.02 * torch.randn(weight.shape, generator=source, dtype=weight.dtype))
        with findings.step("to save the encoder and to read it again"):
            place = folder / name
            place.mkdir(parents=True, exist_ok=True)
            encoder.save(place)
            saved = family.find(str(place), workspace)
            if saved is None:
                findings.add(
                    "the family does not find the folder that its own encoder saved: let `find` return the backbone in "
                    "a folder that `save` wrote"
                )
                return
            revisions[name] = saved.revision(workspace)
            if name != "again":
                _compare_saved(encoder, saved.load(workspace, seed=1).eval(), sequences, findings)
    if findings.faults or len(revisions) < 3:
        return
    if revisions["loaded"] != revisions["again"]:
        findings.add(
            "revision differs for two folders with the same files: hash what is in the files, not their places"
        )
    if revisions["loaded"] == revisions["changed"]:
        findings.add(
            "revision is the same for other weights: hash the weights too, so that no fit is taken for another"
        )


def _compare_saved(encoder: Encoder, read: Encoder, sequences: Sequences, findings: Findings) -> None:
    """Compare an encoder with itself after saving: attributes, weights, tokens, then the states of every layer."""
    if name := _other_weight(encoder, read):
        findings.add(
            f"saved and read again, the encoder is another model: the weight '{name}' is not the same; write every "
            "weight in `save`, and read every weight in `load`"
        )
        return
    for name in KEPT:
        if getattr(encoder, name) != getattr(read, name):
            findings.add(f"saved and read again, the encoder has another `{name}`: write it in `save`")
    for second in (None, OTHERS):
        made, remade = (each.assemble(TEXTS, second, encoder.max_length) for each in (encoder, read))
        if not np.array_equal(made.tokens, remade.tokens):
            findings.add("saved and read again, the encoder makes other tokens of texts: write the tokenizer in `save`")
            return
    everything = range(len(sequences.starts) - 1)
    before, after = (states(each, batch_of(sequences, everything)) for each in (encoder, read))
    for depth, layers in enumerate(zip(before.layers, after.layers, strict=True)):
        if not all(torch.equal(left, right) for left, right in zip(*layers, strict=True)):
            findings.add(
                "saved and read again, the encoder is another model: its weights are the same, and its states of layer "
                f"{depth} are not; write the configuration, and tensors that are no parameters, too"
            )
            return
    if not torch.equal(before.summaries, after.summaries):
        findings.add(
            "saved and read again, the encoder is another model: its states are the same, and its summaries are not"
        )


def _check_fit(backbone: Backbone, family: BackboneFamily, workspace: Workspace, findings: Findings) -> None:
    """Compare an encoder that was fitted with the one that is read from the folder of the fit, by their predictions.

    The fit takes a few steps and trains all weights.
    """
    import pyarrow as pa

    with tempfile.TemporaryDirectory() as name, findings.step("a fit of a few steps"):
        home = Path(name)
        table = pa.table(sentences(16))
        recipe = Recipe(lr=1e-3, epochs=2, batch_size=8)
        method = Finetune()
        loaded = Loaded(backbone.load(workspace, seed=0))
        job = fit_job(method, MOOD, table, loaded, workspace, home, recipe)
        outcome = method.fit(job)
        if outcome.status != "done":
            findings.add(f"a fit with '{method.name}' on {len(table)} sentences ends early: {outcome.reason}")
            return
        saved = family.find(str(job.model), workspace)
        if saved is None:
            findings.add(
                "the family does not find the folder that a fit with its encoder left: look for `save`'s files"
            )
            return
        trained, read = (method.predict(replace(job, backbone=model), table) for model in (loaded, saved))
        if not np.array_equal(trained, read):
            findings.add(
                "fitted, saved and read again, the encoder is another model: what the fit changed is not written by "
                "`save`"
            )
