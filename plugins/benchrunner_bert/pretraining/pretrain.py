"""Pre-train a model: from the texts of a request to a backbone with a name."""

from __future__ import annotations

import functools
import os
from dataclasses import replace

from filelock import FileLock

from benchrunner import DataError, RequestError, full_disk, print_line
from benchrunner.engine import flushed_denormals, seals
from benchrunner.results import discover
from benchrunner_bert.pretraining import architectures
from benchrunner_bert.pretraining.checks import check
from benchrunner_bert.pretraining.continuation import check_same, decisive_facts, text_hashes
from benchrunner_bert.pretraining.corpus import store_writer
from benchrunner_bert.pretraining.corpus.manifest import MANIFEST
from benchrunner_bert.pretraining.corpus.token_store import TokenStore, writing
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.pretraining.corpus.vocabulary_learning import learn_vocabulary
from benchrunner_bert.pretraining.deepspeed import processes
from benchrunner_bert.pretraining.deepspeed.engine import Engine
from benchrunner_bert.pretraining.instances.instances import Instances
from benchrunner_bert.pretraining.instances.masking import Masking
from benchrunner_bert.pretraining.request import Request
from benchrunner_bert.pretraining.results import export_models, is_finished, register_model
from benchrunner_bert.pretraining.training.checkpoints import Checkpoints
from benchrunner_bert.pretraining.training.feed import InstancesByLength
from benchrunner_bert.pretraining.training.loop import TrainingLoop

HELD_OUT_SEED = 1_000_003
"""Seed of held-out instances, whatever the seed of the run, so that the figures of runs can be compared."""


def pretrain(request: Request, *, must_continue: bool = False) -> bool:
    """Train the model of a request, from the last checkpoint if there is one; whether the last step was reached.

    With `must_continue`, a run without a checkpoint is an error.
    """
    check(request)
    if must_continue and not Checkpoints(request.out / "checkpoints").last_step:
        raise RequestError(f"{request.out} has no checkpoint to continue from; leave --resume out to start anew.")
    if is_finished(request):
        register_model(request)
        print_line(f"{request.model_folder}: a backbone for --backbone; it was finished before")
        return True
    if os.environ.get("RANK") and os.environ.get("WORLD_SIZE"):  # of a launcher, such as torchrun
        processes.first_here(lambda: prepare(request))
        return train(request, TokenStore.open(request.tokens_folder))
    store = prepare(request)  # once for all processes, and on all cores
    return processes.run(functools.partial(train, request, store), request.processes)


def prepare(request: Request) -> TokenStore:
    """Learn or read the vocabulary, and write the corpus as tokens. What an earlier call made is used again."""
    folder = request.tokens_folder
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # Held until the tokens are written: meanwhile no other run learns a vocabulary in this folder.
        with FileLock(folder / ".vocabulary.lock"):
            return store_writer.write(folder, request.corpus_texts, _vocabulary(request), tell=request.tell)


def _vocabulary(request: Request) -> Vocabulary:
    if request.vocabulary is not None:
        return Vocabulary.read(request.vocabulary, lowercase=request.lowercase)
    corpus = request.corpus_texts
    # Not the store's own vocab.txt: the store may belong to a given vocabulary, and must then stay unchanged.
    path = request.tokens_folder / "learnt.txt"
    facts_path = path.with_suffix(".json")
    lowercase = request.lowercase is not False
    wanted = {"pieces": request.vocabulary_size, "lowercase": lowercase}
    texts = text_hashes(corpus.facts)
    facts = seals.find_sealed(facts_path, seals.made_again(facts_path))
    is_free = not path.with_name(MANIFEST).exists()  # nobody began to write tokens with it
    if facts is None or (is_free and facts.get("corpus") != texts):
        vocabulary = learn_vocabulary(corpus.paragraphs, path, size=request.vocabulary_size, lowercase=lowercase)
        seals.write_sealed(facts_path, {**wanted, "corpus": texts, "files": {path.name: seals.file_checksum(path)}})
        return vocabulary
    seals.check_files(path.parent, facts["files"], seals.made_again(facts_path))
    check_same(facts, wanted, facts_path)  # the token store checks whether the corpus is the same
    return Vocabulary.read(path, lowercase=lowercase)


def train(request: Request, store: TokenStore) -> bool:
    """Train in one of the processes of a run, and export models in the first; whether the last step was reached."""
    settings = request.settings
    folder = request.out
    if unread := request.unread_documents(store):
        request.tell(
            f"{unread:,} of {store.documents:,} documents hold a single sentence and are not read: a pair needs two. "
            "--input document reads them, but has no next sentences to predict."
        )
    kernels = discover().kernels if request.kernels else None
    with processes.alone(folder), flushed_denormals() as denormals:
        architecture, size = architectures.of_size(request.size)
        model = architecture.fresh(size, store.vocabulary.tokenizer(), settings)
        instances = _instances(request, store, settings.seed)
        held_out = None
        if request.held_out_texts:
            held_out_store = store_writer.write(folder / "held-out", request.held_out_texts, store.vocabulary)
            held_out = _instances(request, held_out_store, HELD_OUT_SEED)
        engine = Engine(model, settings, request.deepspeed_options)
        if not engine.agrees(int(seals.file_checksum(store.folder / MANIFEST)[:15], 16)):  # 60 bits
            raise DataError(f"{store.folder} is not the same on all machines: give each the same files as --corpus.")
        on_cpu = engine.device.type == "cpu"
        computed = {
            "denormal numbers": denormals if on_cpu else "kept",
            "kernels": kernels.name if kernels and kernels.operators and on_cpu else "torch",
            "ZeRO": f"stage {engine.stage}",
        }
        if engine.stage != settings.zero:
            computed["ZeRO"] += f" (--zero {settings.zero} was asked for)"
        facts = {**decisive_facts(request, store.manifest.plan.sources), "tokenizer": store.manifest.plan.tokenizer}
        loop = TrainingLoop(
            request,
            engine,
            model,
            instances,
            held_out,
            facts,
            export=functools.partial(export_models, request, store, model, computed),
            kernels=kernels,
        )
        try:
            finished = loop.run()
        except Exception as error:
            if number := full_disk(error):  # libraries say it by errors of many kinds
                raise OSError(number, os.strerror(number), str(folder)) from error
            raise
        engine.close()  # not after an error: this process and the others would then wait for each other
    return finished


def _instances(request: Request, store: TokenStore, seed: int) -> InstancesByLength:
    settings = request.settings
    vocabulary = store.vocabulary
    frame = vocabulary.tokenizer().frame
    masking = Masking(vocabulary, settings, request.listed_words)
    return {
        length: Instances(store, frame, masking, replace(settings, length=length), seed) for length in settings.lengths
    }
