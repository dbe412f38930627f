"""The steps of a pre-training, from a request to a finished model: prepare, train, export."""

from __future__ import annotations

import errno
import importlib.metadata
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, final

from benchrunner import DataError
from benchrunner.engine import decoding, flushed_denormals, is_disk_full
from benchrunner_bert.pretraining import architectures, inputs, preparation, results
from benchrunner_bert.pretraining.corpus import store_writer
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.token_store import MANIFEST, TokenStore, file_facts
from benchrunner_bert.pretraining.corpus.unigram import unigram_loss
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.pretraining.deepspeed.engine import Engine
from benchrunner_bert.pretraining.deepspeed.processes import alone
from benchrunner_bert.pretraining.export.card import Card
from benchrunner_bert.pretraining.instances.instances import Instances
from benchrunner_bert.pretraining.preparation import Prepared, Report
from benchrunner_bert.pretraining.request import Request, decisive_facts
from benchrunner_bert.pretraining.results import Learned
from benchrunner_bert.pretraining.training.feed import InstancesByLength
from benchrunner_bert.pretraining.training.loop import TrainingLoop

HELD_OUT_SEED = 1_000_003
"""Seed of held-out instances, whatever the seed of the run, so that the figures of runs can be compared."""
_VERSIONS = ("torch", "deepspeed", "tokenizers")
"""Libraries whose versions a model card names."""


@final
class Pipeline:
    """The steps of one request. Texts are read once for their hashes, however many steps need the hashes."""

    def __init__(self, request: Request) -> None:
        self.request = request
        named = partial(Corpus.named, blank_lines=request.texts.blank_lines, passages_only=request.texts.passages_only)
        self._corpus = named(request.corpus)
        self._held_out = named(request.held_out) if request.held_out else None
        self._guessing: float | None = None

    def is_finished(self) -> bool:
        """Whether this request is finished; raise a `RequestError` if its folder belongs to another request."""
        return results.is_finished(self.request, self._corpus, self._held_out)

    def register_model(self) -> None:
        """Make the finished model a backbone with the name that was asked for."""
        results.register_model(self.request)

    def prepare(self, report: Report = lambda progress: None) -> Prepared:
        """Prepare the vocabulary and the tokens."""
        return preparation.prepare(self.request, self._corpus, report)

    def prepare_once_per_machine(self, report: Report = lambda progress: None) -> Prepared:
        """Prepare the vocabulary and the tokens, in each of several processes."""
        return preparation.prepare_once_per_machine(self.request, self._corpus, report)

    def unread_documents(self, prepared: Prepared) -> int:
        """Count the documents of the corpus that the input cannot read: pairs need two sentences of a document."""
        return prepared.store.lone_sentences if inputs.named(self.request.settings.input).pairs else 0

    def learned(self, prepared: Prepared) -> Learned | None:
        """Compare the loss at the end of the run with guessing tokens by their frequency."""
        return results.learned(self.request, self._guessing_loss(prepared))

    def _guessing_loss(self, prepared: Prepared) -> float:
        if self._guessing is None:
            unknown = None if self.request.settings.predict_unknown else prepared.vocabulary.unknown
            self._guessing = unigram_loss(prepared.store, unknown)
        return self._guessing

    def train(self, prepared: Prepared, report: Callable[[int, Mapping[str, Any]], None], kernels: Any = None) -> bool:
        """Train from the last checkpoint, if there is one, and export models; whether the last step was reached.

        `kernels` compute some operators on a CPU in place of torch.
        """
        out = self.request.out
        with alone(out, f"{out} is being trained by another process"), flushed_denormals() as denormals:
            loop = self._loop(prepared, report, denormals, kernels)
            with full_disk_as_os_error(out):
                finished = loop.run()
            loop.engine.close()  # not after an error: this process and the others would then wait for each other
            return finished

    def _loop(
        self, prepared: Prepared, report: Callable[[int, Mapping[str, Any]], None], denormals: str, kernels: Any
    ) -> TrainingLoop:
        request = self.request
        store = prepared.store
        vocabulary = prepared.vocabulary
        architecture, size = architectures.of_size(request.size)
        model = architecture.fresh(size, vocabulary.tokenizer(), request.settings)
        instances = self._instances(store, vocabulary, request.settings.seed)
        held_out = self._held_out_instances(vocabulary)
        engine = Engine(model, request.settings, request.deepspeed_options)
        if not engine.agrees(_fingerprint(store.folder / MANIFEST)):
            raise DataError(f"{store.folder} is not the same on all machines: give each the same files as --corpus.")

        def card(step: int) -> Card:
            losses = results.last_figures(request.out / "log.jsonl")
            on_cpu = engine.device.type == "cpu"
            return Card(
                name=request.model_name,
                corpus=store.manifest,
                settings=request.settings,
                step=step,
                losses={**losses, "loss of guessing tokens by frequency": self._guessing_loss(prepared)},
                command=request.command,
                versions={name: importlib.metadata.version(name) for name in _VERSIONS},
                denormals=denormals if on_cpu else "kept",
                kernels=kernels.name if kernels and kernels.operators and on_cpu else "torch",
                stage=engine.stage,
                unread_documents=self.unread_documents(prepared),
            )

        def export(step: int) -> None:
            results.export_models(request, model, store.manifest, self._held_out, step, card(step))

        facts = decisive_facts(request, store.manifest.sources, self._held_out)
        return TrainingLoop(
            engine=engine,
            model=model,
            settings=request.settings,
            instances=instances,
            folder=request.out,
            facts=decoding.as_json({**facts, "tokenizer": store.manifest.plan.tokenizer}),
            plan=request.plan,
            held_out=held_out,
            export=export,
            report=report,
            kernels=kernels,
        )

    def _held_out_instances(self, vocabulary: Vocabulary) -> InstancesByLength | None:
        if self._held_out is None:
            return None
        store = store_writer.write(self.request.held_out_folder, self._held_out, vocabulary)
        return self._instances(store, vocabulary, HELD_OUT_SEED)

    def _instances(self, store: TokenStore, vocabulary: Vocabulary, seed: int) -> InstancesByLength:
        settings = self.request.settings
        frame = vocabulary.tokenizer().frame
        return {
            length: Instances(store, frame, vocabulary, replace(settings, length=length), seed)
            for length in settings.lengths
        }


@contextmanager
def full_disk_as_os_error(folder: Path) -> Iterator[None]:
    """Turn the errors by which libraries say that a disk is full into the system's error, which names the folder."""
    try:
        yield
    except Exception as error:
        if is_disk_full(error) and not isinstance(error, OSError):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder)) from error
        raise


def _fingerprint(path: Path) -> int:
    """Give the first 60 bits of a file's hash as a number."""
    return int(file_facts(path).checksum[:15], 16)
