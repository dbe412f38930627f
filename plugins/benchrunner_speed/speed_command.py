"""Command `speed`: measure speed, memory and parameters of backbones on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from benchrunner import RequestError, print_note
from benchrunner.results import command_line, comparison
from benchrunner_speed.settings import SpeedSettings

if TYPE_CHECKING:
    from benchrunner_speed.intervals import Estimate
    from benchrunner_speed.measuring import Measurement


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `speed`."""
    parser.add_argument("backbones", nargs="+", metavar="B", help=command_line.options.BACKBONES)
    SpeedSettings.add_options(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    command_line.options.add_workspace(parser)
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure the backbones and print the figures."""
    import dataclasses
    from functools import partial

    from benchrunner.results import Computing, Runner
    from benchrunner_speed.measuring import measure
    from benchrunner_speed.worker import load_backbone

    options, output = command_line.options, command_line.output
    settings = SpeedSettings(**SpeedSettings.given(arguments))
    runner = Runner(arguments.plugins, options.workspace(arguments), Computing(settings.device))
    settings = dataclasses.replace(settings, precision=runner.precision(settings.precision))
    loads = {}
    for number, name in enumerate(arguments.backbones):
        runner.planner.backbone(name)  # an unknown name is refused before anything is measured
        own_name = name if name not in loads else f"{name} ({arguments.backbones[: number + 1].count(name)})"
        loads[own_name] = partial(load_backbone, name, runner.workspace)

    def note(text: str) -> None:
        if not arguments.quiet:
            print_note(f"speed: {text}")

    measured = measure(loads, settings, runner.resolved.device, note=note)
    if not measured.timings:
        longest = max(footprint.facts.max_length for footprint in measured.footprints)
        raise RequestError(f"--lengths: none of the backbones reads so many tokens; they read {longest:,} at most.")
    if arguments.json:
        output.print_json(as_json(measured))
    else:
        _print(measured)
    return output.DONE


def as_json(measured: Measurement) -> dict[str, Any]:
    """Return everything that was measured, with the seconds of every round in seconds and bytes."""
    timings = [
        {**vars(timing), "latency": timing.latency, "tokens_per_second": timing.rate} for timing in measured.timings
    ]
    return {
        "machine": measured.machine,
        "settings": measured.settings,
        "footprints": measured.footprints,
        "timings": timings,
        "verdicts": measured.verdicts,
        "notes": measured.notes,
    }


def _print(measured: Measurement) -> None:
    """Print a table of what the backbones need, one of their speed, the verdicts and the machine."""
    repeats = measured.settings.repeats
    notes = [
        *measured.verdicts,
        f"medians of {repeats} rounds, in each of which every backbone had its turn, with intervals of 95 %",
    ]
    if measured.verdicts:
        notes.append("the intervals of the ratios hold together, so that equal backbones tie in 95 of 100 measurements")
    notes += [measured.machine.text, *measured.notes]
    command_line.output.print_table(_table(_needs(measured)), ())
    command_line.output.print_table(_table(_speeds(measured)), notes)


def _table(rows: Iterable[tuple[str, ...]]) -> comparison.Layout:
    """Return rows as a table; the first row has the headers."""
    headers, *lines = rows
    numeric = (False, *[True] * len(headers[1:]))
    return comparison.Layout(headers, numeric, tuple(map(comparison.Line, lines)), "")


def _needs(measured: Measurement) -> Iterator[tuple[str, ...]]:
    shape = f"{measured.settings.train_batch} x {measured.settings.train_length}"
    yield "backbone", "parameters", f"peak B, {shape}", f"peak B, training {shape}"
    for footprint in measured.footprints:
        sizes = (footprint.facts.parameters, footprint.prediction_bytes, footprint.training_bytes)
        yield footprint.system, *("-" if size is None else comparison.prefixed(size) for size in sizes)


def _speeds(measured: Measurement) -> Iterator[tuple[str, ...]]:
    yield "backbone", "tokens", "batch", "latency, ms [95 %]", "tokens/s [95 %]"
    for timing in measured.timings:
        name = f"{timing.system}, training" if timing.kind == "train" else timing.system
        shape = (f"{timing.length:,}", f"{timing.batch:,}")
        milliseconds = timing.latency.mapped(lambda seconds: 1000 * seconds)
        yield name, *shape, _text(milliseconds, _digits), _text(timing.rate, comparison.prefixed)


def _text(estimate: Estimate, written: Callable[[float], str]) -> str:
    return f"{written(estimate.value)} [{written(estimate.low)}, {written(estimate.high)}]"


def _digits(value: float) -> str:
    """Write a number with three digits, or all digits before the point."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:#.3g}"
