"""Train the model of a request on a corpus that is prepared, and export it."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchrunner import DataError, full_disk
from benchrunner.engine import decoding, flushed_denormals, seals
from benchrunner_bert.pretraining import architectures, results
from benchrunner_bert.pretraining.corpus import store_writer
from benchrunner_bert.pretraining.corpus.manifest import MANIFEST
from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.corpus.unigram import unigram_loss
from benchrunner_bert.pretraining.deepspeed.engine import Engine
from benchrunner_bert.pretraining.deepspeed.processes import alone
from benchrunner_bert.pretraining.export.card import Card
from benchrunner_bert.pretraining.inputs import INPUTS
from benchrunner_bert.pretraining.instances.instances import Instances
from benchrunner_bert.pretraining.request import Request, decisive_facts
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.feed import InstancesByLength
from benchrunner_bert.pretraining.training.loop import TrainingLoop

HELD_OUT_SEED = 1_000_003
"""Seed of held-out instances, whatever the seed of the run, so that the figures of runs can be compared."""
_VERSIONS = ("torch", "deepspeed", "tokenizers")
"""Libraries whose versions a model card names."""


def train(
    request: Request, store: TokenStore, report: Callable[[int, Mapping[str, Any]], None], kernels: Any = None
) -> bool:
    """Train from the last checkpoint, if there is one, and export models; whether the last step was reached.

    `kernels` compute some operators on a CPU in place of torch.
    """
    out = request.out
    with alone(out), flushed_denormals() as denormals:
        loop = _loop(request, store, report, denormals, kernels)
        try:
            finished = loop.run()
        except Exception as error:
            if number := full_disk(error):  # libraries say it by errors of many kinds
                raise OSError(number, os.strerror(number), str(out)) from error
            raise
        loop.engine.close()  # not after an error: this process and the others would then wait for each other
        return finished


def unread_documents(request: Request, store: TokenStore) -> int:
    """Count the documents of the corpus that the input cannot read: pairs need two sentences of a document."""
    return store.lone_sentences if INPUTS[request.settings.input].pairs else 0


def _loop(
    request: Request,
    store: TokenStore,
    report: Callable[[int, Mapping[str, Any]], None],
    denormals: str,
    kernels: Any,
) -> TrainingLoop:
    settings = request.settings
    architecture, size = architectures.of_size(request.size)
    model = architecture.fresh(size, store.vocabulary.tokenizer(), settings)
    instances = _instances(store, settings, settings.seed)
    held_out = None
    if request.held_out_texts is not None:
        held_out_store = store_writer.write(request.held_out_folder, request.held_out_texts, store.vocabulary)
        held_out = _instances(held_out_store, settings, HELD_OUT_SEED)
    engine = Engine(model, settings, request.deepspeed_options)
    if not engine.agrees(_fingerprint(store.folder / MANIFEST)):
        raise DataError(f"{store.folder} is not the same on all machines: give each the same files as --corpus.")

    def export(step: int) -> None:
        losses = results.last_figures(request.out / "log.jsonl")
        on_cpu = engine.device.type == "cpu"
        card = Card(
            name=request.model_name,
            corpus=store.manifest,
            settings=settings,
            step=step,
            losses={**losses, "loss of guessing tokens by frequency": unigram_loss(store, settings)},
            command=request.command,
            versions={name: importlib.metadata.version(name) for name in _VERSIONS},
            denormals=denormals if on_cpu else "kept",
            kernels=kernels.name if kernels and kernels.operators and on_cpu else "torch",
            stage=engine.stage,
            unread_documents=unread_documents(request, store),
        )
        results.export_models(request, model, step, card)

    facts = decisive_facts(request, store.manifest.sources)
    return TrainingLoop(
        engine=engine,
        model=model,
        settings=settings,
        instances=instances,
        folder=request.out,
        facts=decoding.as_json({**facts, "tokenizer": store.manifest.plan.tokenizer}),
        plan=request.plan,
        held_out=held_out,
        export=export,
        report=report,
        kernels=kernels,
    )


def _instances(store: TokenStore, settings: Settings, seed: int) -> InstancesByLength:
    vocabulary = store.vocabulary
    frame = vocabulary.tokenizer().frame
    return {
        length: Instances(store, frame, vocabulary, replace(settings, length=length), seed)
        for length in settings.lengths
    }


def _fingerprint(path: Path) -> int:
    """Give the first 60 bits of a file's hash as a number."""
    return int(seals.file_checksum(path)[:15], 16)
