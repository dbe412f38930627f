"""What is left to do in a pre-training: steps, floating-point operations, and time if a log has measured it."""

from __future__ import annotations

import numpy as np

from benchrunner import CommandEstimate, read_text
from benchrunner.engine import step_log
from benchrunner_bert.pretraining import architectures, results
from benchrunner_bert.pretraining.checks import check
from benchrunner_bert.pretraining.objectives import OBJECTIVES
from benchrunner_bert.pretraining.request import Request
from benchrunner_bert.pretraining.training.checkpoints import Checkpoints

_SPECIAL_TOKENS = 3
"""[CLS] and two [SEP] of a pair, which are not predicted."""


def estimate(request: Request) -> CommandEstimate:
    """Count the steps after the last checkpoint; texts are not read.

    Every sequence is taken to be as long as it may be: short documents and the share of short sequences make the true
    number of operations smaller.
    """
    check(request)
    settings = request.settings
    if (request.out / results.FINISHED).exists():
        return CommandEstimate("", flops=0.0, seconds=0.0)
    done = Checkpoints(request.out / "checkpoints").last_step
    short_steps = max(0, settings.border - done)
    long_steps = settings.steps - max(settings.border, done)
    flops = short_steps * _step_flops(request, settings.length)
    flops += long_steps * _step_flops(request, settings.long_length)
    left = f"{settings.steps - done:,} of {settings.steps:,} steps" if done else f"{settings.steps:,} steps"
    seconds = None
    for line in step_log.read(request.out / "log.jsonl"):
        if line["step"] <= done:  # the time that was left at the last line up to the checkpoint
            seconds = line.get("seconds_left", seconds)
    return CommandEstimate(left, flops=float(flops), seconds=seconds)


def _step_flops(request: Request, length: int) -> float:
    """Count the operations of a step over full sequences of a length."""
    settings = request.settings
    architecture, size = architectures.of_size(request.size)
    vocabulary = request.vocabulary_size
    if request.vocabulary is not None and request.vocabulary.exists():  # another command of a study may write the file
        vocabulary = len(read_text(request.vocabulary).splitlines())
    config = architecture.configuration(size, vocabulary, settings)
    objective = OBJECTIVES[settings.objective]
    predicted = length - _SPECIAL_TOKENS
    if objective.is_masked:
        predicted = round(settings.chosen * predicted)
    predictions = settings.batch_size * max(predicted, 1)
    lengths = np.full(settings.batch_size, length)
    return config.step_flops(lengths, predictions, next_sentence=objective.next_sentence)
