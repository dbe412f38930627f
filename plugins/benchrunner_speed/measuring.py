"""Measure encoders in turns: each round gives every encoder one timing of every kind, A B C A B C ..."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, final

from benchrunner import Recipe
from benchrunner.engine import platform_facts
from benchrunner_speed.bench import Facts
from benchrunner_speed.intervals import Estimate, verdict
from benchrunner_speed.machine import Machine, machine_of
from benchrunner_speed.settings import SpeedSettings
from benchrunner_speed.worker import Load, Place, Worker, started

Kind = Literal["predict", "train"]


@final
@dataclass(frozen=True)
class Timing:
    """The seconds of one encoder's passes over one shape of batch, a number for each round."""

    system: str
    kind: Kind
    length: int
    batch: int
    seconds: tuple[float, ...]

    @property
    def latency(self) -> Estimate:
        """Seconds until a batch is done."""
        return Estimate.of(self.seconds)

    @property
    def rate(self) -> Estimate:
        """Tokens per second."""
        return self.latency.mapped(lambda seconds: self.batch * self.length / seconds)


@final
@dataclass(frozen=True)
class Footprint:
    """What an encoder needs, whatever its speed."""

    system: str
    facts: Facts
    prediction_bytes: int
    """The most memory of a process that computes `SpeedSettings.train_batch` sequences at once."""
    training_bytes: int | None
    """The most memory of a process that trains on them; None if this was not asked for."""


@final
@dataclass(frozen=True)
class Measurement:
    """Everything that was measured, with the machine."""

    machine: Machine
    settings: SpeedSettings
    footprints: tuple[Footprint, ...]
    timings: tuple[Timing, ...]
    notes: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = field(default=())
    """In words, which encoders are faster and which tie, for each length."""

    def fastest(self, system: str, length: int) -> Timing | None:
        """Return the timing of the batch with the most tokens per second; None for a length that was not measured."""
        mine = [timing for timing in self.timings if (timing.system, timing.kind) == (system, "predict")]
        of_length = [timing for timing in mine if timing.length == length]
        return of_length[-1] if of_length else None


def measure(
    loads: Mapping[str, Load],
    settings: SpeedSettings,
    device: str,
    *,
    times_training: bool = True,
    note: Callable[[str], None] = lambda text: None,
) -> Measurement:
    """Measure encoders on a device that torch has; `loads` has the function that loads each, by name.

    Without `times_training`, only the memory of training is measured.
    """
    place = Place(device, settings.precision, settings.threads or platform_facts.available_cores())
    machine = machine_of(place)
    footprints = []
    for name, load in loads.items():
        note(f"memory of {name}")
        footprints.append(_footprint(name, load, place, settings))
    notes = list(_too_long(footprints, settings))
    with contextlib.ExitStack() as stack:
        workers = {name: stack.enter_context(started(name, load, place)) for name, load in loads.items()}
        shapes = list(_prediction_shapes(workers, footprints, settings, note))
        if settings.training and times_training:
            shapes += _training_shapes(workers, footprints, settings)
        timings = _in_turns(workers, shapes, settings.repeats, note)
    if machine.busy_note:
        notes.append(machine.busy_note)
    verdicts = tuple(_verdicts(timings, settings))
    return Measurement(machine, settings, tuple(footprints), tuple(timings), tuple(notes), verdicts)


def _footprint(name: str, load: Load, place: Place, settings: SpeedSettings) -> Footprint:
    """Count the parameters of an encoder, and measure its memory in new processes."""
    with started(name, load, place) as worker:
        facts: Facts = worker.ask("facts")
        shape = _memory_shape(facts.max_length, settings)
        worker.ask("predict", *shape, 1)
        predicting: int = worker.ask("peak")
    if not settings.training:
        return Footprint(name, facts, predicting, None)
    with started(name, load, place) as worker:
        worker.ask("train", *shape, 2)  # the second step has the optimizer's moments from its beginning
        return Footprint(name, facts, predicting, worker.ask("peak"))


def _memory_shape(longest: int, settings: SpeedSettings) -> tuple[int, int]:
    return settings.train_batch, min(settings.train_length, longest)


def _too_long(footprints: Sequence[Footprint], settings: SpeedSettings) -> Iterator[str]:
    """Say which encoders cannot read a length that is asked for."""
    for footprint in footprints:
        longest = footprint.facts.max_length
        missing = [str(length) for length in settings.lengths if length > longest]
        if missing:
            yield f"{footprint.system} reads at most {longest:,} tokens: nothing at {', '.join(missing)} tokens"
        if settings.train_length > longest:
            yield f"{footprint.system}: memory and training steps are of {longest:,} tokens, the most that it reads"


@final
@dataclass(frozen=True)
class _Shape:
    """A batch that a worker is timed with."""

    system: str
    kind: Kind
    length: int
    batch: int
    passes: int


def _prediction_shapes(
    workers: Mapping[str, Worker],
    footprints: Sequence[Footprint],
    settings: SpeedSettings,
    note: Callable[[str], None],
) -> Iterator[_Shape]:
    """Choose the batches of forward passes: at every length that an encoder reads, batch 1 and the fastest batch.

    The timings that choose the fastest batch are thrown away: of several, the best looks better than it is.
    """
    longest = {footprint.system: footprint.facts.max_length for footprint in footprints}
    for length in settings.lengths:
        for name, worker in workers.items():
            if length > longest[name]:
                continue
            note(f"the fastest batch of {name} at {length:,} tokens")
            passes = {batch: worker.ask("passes", batch, length) for batch in _batches(length, settings)}
            seconds = {batch: worker.ask("predict", batch, length, count) / batch for batch, count in passes.items()}
            fastest = min(seconds, key=lambda batch: seconds[batch])
            for batch in dict.fromkeys((1, fastest)):
                yield _Shape(name, "predict", length, batch, passes[batch])


def _training_shapes(
    workers: Mapping[str, Worker], footprints: Sequence[Footprint], settings: SpeedSettings
) -> Iterator[_Shape]:
    """Warm training up, and give the batch of a step for each encoder."""
    for footprint in footprints:
        batch, length = _memory_shape(footprint.facts.max_length, settings)
        workers[footprint.system].ask("train", batch, length, 1)
        yield _Shape(footprint.system, "train", length, batch, 1)


def _batches(length: int, settings: SpeedSettings) -> list[int]:
    """List 1 and the batches that are asked for, but none with more tokens than fits compute at once."""
    most = Recipe().micro_tokens
    return [1, *(batch for batch in settings.batches if batch > 1 and batch * length <= most)]


def _in_turns(
    workers: Mapping[str, Worker], shapes: Sequence[_Shape], repeats: int, note: Callable[[str], None]
) -> list[Timing]:
    """Time all shapes round after round; within a round, the encoders take turns at each length."""
    seconds: dict[_Shape, list[float]] = {shape: [] for shape in shapes}
    for number in range(repeats):
        note(f"round {number + 1} of {repeats}")
        for shape in shapes:
            asked = (shape.kind, shape.batch, shape.length, shape.passes)
            seconds[shape].append(workers[shape.system].ask(*asked))
    return [
        Timing(shape.system, shape.kind, shape.length, shape.batch, tuple(values)) for shape, values in seconds.items()
    ]


def _verdicts(timings: Sequence[Timing], settings: SpeedSettings) -> Iterator[str]:
    """Say for each length which encoders are faster, and which tie."""
    compared = dict[str, dict[str, tuple[float, ...]]]()
    for length in settings.lengths:
        of_length = [timing for timing in timings if (timing.kind, timing.length) == ("predict", length)]
        single = {timing.system: timing.seconds for timing in of_length if timing.batch == 1}
        compared[f"{length:,} tokens, batch 1"] = single
        # The last timing of a system is that of its fastest batch.
        compared[f"{length:,} tokens, best batch"] = {timing.system: _per_token(timing) for timing in of_length}
    compared["training"] = {timing.system: _per_token(timing) for timing in timings if timing.kind == "train"}
    comparisons = sum(max(0, len(seconds) - 1) for seconds in compared.values())
    for what, seconds in compared.items():
        if len(seconds) > 1:
            yield f"{what}: {verdict(seconds, comparisons)}"


def _per_token(timing: Timing) -> tuple[float, ...]:
    return tuple(seconds / timing.batch / timing.length for seconds in timing.seconds)
