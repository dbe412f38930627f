"""The costs of a study's systems: what their encoders need on this machine, and what their fits took."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import final

from benchrunner import Workspace, print_note
from benchrunner.results import Computing, Fit, Record, comparison
from benchrunner_speed.machine import Machine
from benchrunner_speed.measuring import Footprint, Measurement, measure
from benchrunner_speed.settings import SpeedSettings
from benchrunner_speed.worker import load_backbone

LENGTH = 128
"""Tokens of the sequences whose speed a table shows."""
COMPARED_NUMERICS = ("device", "device_name", "capability", "threads", "precision")
"""Facts of records that must be equal before seconds of fits are compared."""
NO_ENCODER = "has no encoder"
NOT_MEASURED = "is not measured: trusted code of checkpoints runs only in fits and predictions"


def costs_of_study(
    fits: Mapping[str, Sequence[Fit]],
    records: Mapping[str, Record],
    workspace: Workspace,
    computing: Computing,
    *,
    show_progress: bool = False,
) -> list[comparison.Cost]:
    """Measure the encoder of each system, and read what its fits took from their records."""
    backbones = {system: of_system[-1].backbone for system, of_system in fits.items() if of_system}
    loads = {}
    for name in dict.fromkeys(backbones.values()):
        if name and not workspace.settings.trusted_code:
            loads[name] = partial(load_backbone, name, workspace)
    settings = _settings(fits)

    def note(text: str) -> None:
        if show_progress:
            print_note(f"cost: {text}")

    measured = None
    if loads:
        measured = measure(loads, settings, computing.device, times_training=False, note=note)
    costs = list[comparison.Cost]()
    for system, of_system in fits.items():
        name = backbones.get(system, "")
        costs += _of_encoder(system, name, measured)
        costs.append(_of_fits(SystemFits(system, of_system, records), measured))
        costs += _memory(system, name, measured)
    return costs


def _settings(fits: Mapping[str, Sequence[Fit]]) -> SpeedSettings:
    """Return what is measured for a table: one length, in the precision of the fits if all have the same."""
    precisions = {fit.recipe.precision for of_system in fits.values() for fit in of_system if fit.backbone}
    precision = precisions.pop() if len(precisions) == 1 else SpeedSettings.precision
    return SpeedSettings(lengths=(LENGTH,), precision=precision)


def _of_encoder(system: str, name: str, measured: Measurement | None) -> Iterator[comparison.Cost]:
    """Yield the costs of the encoder of a system."""
    if measured is None or not name:
        reason = NOT_MEASURED if name else NO_ENCODER
        yield comparison.Cost(system, "parameters", "", None, note=f"{system} {reason}")
        return
    footprint = _footprint(name, measured)
    yield comparison.Cost(system, "parameters", "", footprint.facts.parameters, note="of the encoder, with embeddings")
    fastest = measured.fastest(name, LENGTH)
    if fastest is None:
        reason = f"{system} reads at most {footprint.facts.max_length:,} tokens"
        yield comparison.Cost(system, "speed", "tokens/s", None, note=reason)
        return
    rate = fastest.rate
    yield comparison.Cost(system, "speed", "tokens/s", rate.value, rate.low, rate.high, _about_speed(measured))


def _about_speed(measured: Measurement) -> str:
    """Say how speed was measured, and which systems differ in it."""
    rounds = f"forward passes in turns, medians of {measured.settings.repeats} rounds with intervals of 95 %"
    best = [sentence for sentence in measured.verdicts if "best batch" in sentence]
    return "; ".join([f"{rounds}, on {measured.machine.text}", *best, *filter(None, [measured.machine.busy_note])])


def _memory(system: str, name: str, measured: Measurement | None) -> Iterator[comparison.Cost]:
    """Yield the peaks of memory of the encoder of a system."""
    if measured is None or not name:
        return
    footprint, settings = _footprint(name, measured), measured.settings
    note = f"peak of a whole process, with a batch of {settings.train_batch} x {settings.train_length} tokens"
    for kind, size in (("training", footprint.training_bytes), ("prediction", footprint.prediction_bytes)):
        if size is not None:
            yield comparison.Cost(system, f"{kind} memory", "B", size, note=note)


def _footprint(name: str, measured: Measurement) -> Footprint:
    return next(footprint for footprint in measured.footprints if footprint.system == name)


@final
@dataclasses.dataclass(frozen=True)
class SystemFits:
    """The fits of a system, with the records of those that are finished."""

    system: str
    fits: Sequence[Fit]
    records: Mapping[str, Record]

    @property
    def done(self) -> list[Record]:
        """The records of the finished fits."""
        known = [self.records[fit.id] for fit in self.fits if fit.id in self.records]
        return [record for record in known if record.status == "done"]

    @property
    def seconds(self) -> list[float]:
        """The seconds of training of each fit, or of the whole fit if its method does not train in steps."""
        timings = [record.timings for record in self.done]
        return [of_fit.get("train_seconds", of_fit.get("seconds", 0.0)) for of_fit in timings]

    def differences(self, machine: Machine | None) -> str:
        """Say in which facts the fits differ from one another or from this machine; empty if in none."""
        here = {} if machine is None else dataclasses.asdict(machine)
        parts = []
        for fact in COMPARED_NUMERICS:
            values = dict.fromkeys(str(record.numerics[fact]) for record in self.done if fact in record.numerics)
            if len(values) > 1:
                parts.append(f"{fact} {', '.join(values)}")
            elif fact in here and values and str(here[fact]) not in values:
                parts.append(f"{fact} {next(iter(values))}, where the encoder was measured with {here[fact]}")
        return "; ".join(parts)


def _of_fits(fits: SystemFits, measured: Measurement | None) -> comparison.Cost:
    """Return the seconds of a system's fits: their mean, with the range of the fits."""
    seconds = fits.seconds
    if not seconds:
        return comparison.Cost(fits.system, "training time", "s/fit", None, note=f"{fits.system}: no fit finished")
    about = "seconds of training in the records of the fits, their mean and range"
    differences = fits.differences(None if measured is None else measured.machine)
    if differences:
        about = f"{about}; {fits.system}: not computed alike, so do not compare its seconds ({differences})"
    low, high = (min(seconds), max(seconds)) if len(set(seconds)) > 1 else (None, None)
    return comparison.Cost(fits.system, "training time", "s/fit", statistics.fmean(seconds), low, high, about)
