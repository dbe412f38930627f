"""What is left to do in a pre-training: steps, floating-point operations, and time if a log has measured it."""

from __future__ import annotations

import numpy as np

from benchrunner import CommandEstimate, read_text
from benchrunner.engine import step_log
from benchrunner_bert.pretraining import architectures, results
from benchrunner_bert.pretraining.objectives import TWO_MODELS, named
from benchrunner_bert.pretraining.request import Request
from benchrunner_bert.pretraining.settings import Settings

_SPECIAL_TOKENS = 3
"""[CLS] and two [SEP] of a pair, which are not predicted."""


def estimate(request: Request) -> CommandEstimate:
    """Count the steps after the last checkpoint; texts are not read.

    Every sequence is taken to be as long as it may be: short documents and the share of short sequences make the true
    number of operations smaller.
    """
    settings = request.settings
    if (request.out / results.FINISHED).exists():
        return CommandEstimate("", flops=0.0, seconds=0.0)
    done = _steps_done(request)
    flops = sum(
        step_flops(request, length) * len(range(max(first, done), last)) for length, first, last in _phases(settings)
    )
    steps = f"{settings.steps - done:,} of {settings.steps:,} steps" if done else f"{settings.steps:,} steps"
    seconds = _seconds_left(request, done) if done else None
    return CommandEstimate(steps, flops=float(flops), seconds=seconds)


def step_flops(request: Request, length: int) -> int:
    """Count the operations of a step over full sequences of a length."""
    settings = request.settings
    architecture, size = architectures.of_size(request.size)
    config = architecture.configuration(size, _vocabulary_size(request), settings)
    objective = named(settings.objective)
    predicted = length - _SPECIAL_TOKENS
    if objective.is_masked:
        predicted = round(settings.chosen * predicted)
    predictions = settings.batch_size * max(predicted, 1)
    if objective == TWO_MODELS:
        predictions *= 2
    lengths = np.full(settings.batch_size, length)
    return config.step_flops(lengths, predictions, next_sentence=objective.next_sentence)


def _phases(settings: Settings) -> list[tuple[int, int, int]]:
    """List the phases: length of the sequences, first step, and the step after the last."""
    return [(settings.length, 0, settings.border), (settings.long_length, settings.border, settings.steps)]


def _steps_done(request: Request) -> int:
    """Give the step of the last checkpoint; 0 if there is none."""
    names = [path.name for path in (request.out / "checkpoints").glob("step-*")]
    return max((int(name.removeprefix("step-")) for name in names if name[len("step-") :].isdigit()), default=0)


def _seconds_left(request: Request, done: int) -> float | None:
    """Take the time that was left at the last line of the log up to the last checkpoint."""
    lines = [line for line in step_log.read(request.out / "log.jsonl") if line["step"] <= done]
    measured = [float(line["seconds_left"]) for line in lines if "seconds_left" in line]
    return measured[-1] if measured else None


def _vocabulary_size(request: Request) -> int:
    if request.vocabulary is None or not request.vocabulary.exists():  # another command of a study may write the file
        return request.texts.vocabulary_size
    return len(read_text(request.vocabulary).splitlines())
