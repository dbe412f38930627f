"""Refuse a request that cannot work, before any text is read."""

from __future__ import annotations

import math
import os

from benchrunner import DataError, RequestError
from benchrunner.results import output_places
from benchrunner_bert.memory import check_memory
from benchrunner_bert.pretrained import check_free
from benchrunner_bert.pretraining import architectures
from benchrunner_bert.pretraining.deepspeed.configuration import check_keys
from benchrunner_bert.pretraining.inputs import INPUTS
from benchrunner_bert.pretraining.objectives import OBJECTIVES
from benchrunner_bert.pretraining.request import Request

_WEIGHT = 4
"""Bytes of a weight in fp32: every process draws the whole model, wherever it trains its part."""
_TOKEN = 24
"""Bytes of a token of a batch: its id, segment, position and label, before and after they are put together."""


def check(request: Request) -> None:
    """Raise a `RequestError` for the first part of the request that cannot work."""
    settings = request.settings
    _check_gpus(request.processes)
    architecture, size = architectures.of_size(request.size)
    weights = architecture.configuration(size, request.vocabulary_size, settings).weights
    architecture.check(settings)
    settings.check_shared(request.processes)
    model = f"A model of the size {request.size} has {weights:,} weights, which need"
    check_memory(model, _WEIGHT * weights * request.processes)
    length = max(settings.lengths)
    batch = f"A batch of {settings.batch_size:,} sequences of {length:,} tokens needs, in each process,"
    sequences = math.ceil(settings.batch_size / request.processes)
    check_memory(batch, _TOKEN * length * sequences, "Choose a smaller --batch-size.")
    check_keys(request.deepspeed_options)
    if OBJECTIVES[settings.objective].next_sentence and not INPUTS[settings.input].pairs:
        raise RequestError(
            f"The objective {settings.objective} predicts whether the second of two spans follows the first: it needs "
            f"--input pairs, not {settings.input}. Without next sentences, the objective is mlm."
        )
    if request.listed_words and not settings.whole_words:
        raise RequestError("--words says which characters --whole-words keeps together: give both or none.")
    for step in request.export_at:
        if not 1 <= step <= settings.steps:
            raise RequestError(f"A model of step {step} cannot be kept: steps are 1 to {settings.steps}.")
    _ = request.corpus_texts, request.held_out_texts  # a text that is not there is an error
    if request.out.is_symlink() and not request.out.exists():
        raise DataError(f"{request.out}: a run is kept in a folder, but this link leads to nothing. Make its folder.")
    output_places.check_place(request.out, is_file=False)
    check_free(request.model_name, request.model_folder, request.names)


def _check_gpus(processes: int) -> None:
    """Raise a `RequestError` if a process would have no GPU of its own, on a machine with GPUs."""
    import torch

    gpus = 0 if os.environ.get("DS_ACCELERATOR") == "cpu" else torch.cuda.device_count()
    if gpus and processes > gpus:
        raise RequestError(
            f"--processes must be at most {gpus}, the number of GPUs that torch sees, since each process trains on its "
            f"own GPU: not {processes}."
        )
