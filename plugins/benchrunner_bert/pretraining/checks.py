"""Refuse a request that cannot work, before any text is read."""

from __future__ import annotations

import os

from benchrunner import DataError, RequestError
from benchrunner.engine import platform_facts
from benchrunner_bert.memory import check_memory
from benchrunner_bert.pretrained import check_free
from benchrunner_bert.pretraining import architectures
from benchrunner_bert.pretraining.deepspeed.configuration import check_keys
from benchrunner_bert.pretraining.inputs import INPUTS
from benchrunner_bert.pretraining.objectives import named
from benchrunner_bert.pretraining.request import Request
from benchrunner_bert.pretraining.settings import Settings, check_shared

_WEIGHT = 4
"""Bytes of a weight in fp32: every process draws the whole model, wherever it trains its part."""
_TOKEN = 24
"""Bytes of a token of a batch: its id, segment, position and label, before and after they are put together."""


def check(request: Request, processes: int) -> None:
    """Raise a `RequestError` for the first part of the request that cannot work."""
    _check_gpus(processes)
    architecture, size = architectures.of_size(request.size)
    architecture.check(size, request.settings)
    check_shared(request.settings.batch_size, processes)
    weights = architecture.configuration(size, request.texts.vocabulary_size, request.settings).weights
    check_memory(f"A model of the size {request.size}", weights, bytes_each=_WEIGHT * processes)
    _check_batch(request.settings, processes)
    check_keys(request.deepspeed_options)
    _check_input(request.settings)
    steps = request.settings.steps
    if impossible := [step for step in request.plan.export_at if not 1 <= step <= steps]:
        raise RequestError(f"A model of step {impossible[0]} cannot be kept: steps are 1 to {steps}.")
    _ = request.corpus_texts, request.held_out_texts  # a text that is not there is an error
    if request.out.is_symlink() and not request.out.exists():
        raise DataError(f"{request.out}: a run is kept in a folder, but this link leads to nothing. Make its folder.")
    if request.out.exists() and not request.out.is_dir():
        raise DataError(f"{request.out}: a run is kept in a folder, but this is a file. Choose another --out.")
    check_free(request.model_name, request.model_folder, request.runs)


def _check_input(settings: Settings) -> None:
    """Raise a `RequestError` for an objective that the input cannot teach."""
    if named(settings.objective).next_sentence and not INPUTS[settings.input].pairs:
        raise RequestError(
            f"The objective {settings.objective} predicts whether the second of two spans follows the first: it needs "
            f"--input pairs, not {settings.input}. Without next sentences, the objective is mlm."
        )


def _check_gpus(processes: int) -> None:
    """Raise a `RequestError` if a process would have no GPU of its own, on a machine with GPUs."""
    import torch

    gpus = 0 if os.environ.get("DS_ACCELERATOR") == "cpu" else torch.cuda.device_count()
    if gpus and processes > gpus:
        raise RequestError(
            f"--processes must be at most {gpus}, the number of GPUs that torch sees, since each process trains on its "
            f"own GPU: not {processes}."
        )


def _check_batch(settings: Settings, processes: int) -> None:
    """Raise a `RequestError` if a process cannot hold its part of the sequences of a step."""
    tokens = -(-settings.batch_size // processes) * max(settings.lengths)
    if tokens * _TOKEN > (memory := platform_facts.memory_size()):
        raise RequestError(
            f"A batch of {settings.batch_size:,} sequences of {max(settings.lengths):,} tokens needs "
            f"{tokens * _TOKEN / 1e9:,.0f} GB of memory in each process; there are {memory / 1e9:,.1f} GB. "
            "Choose a smaller --batch-size."
        )
