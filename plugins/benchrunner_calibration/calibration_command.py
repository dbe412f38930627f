"""Command `calibration`: show whether systems are right as often as their probabilities of labels say."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import RequestError, print_line
from benchrunner.results import command_line, output_places

if TYPE_CHECKING:
    from benchrunner_calibration.calibration import Calibration

SUFFIXES = (".svg", ".html", ".htm")
"""Ends of the names of files that `--plot` writes."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `calibration`."""
    command_line.options.add_kept_result(parser)
    parser.add_argument(
        "--bins",
        type=int,
        metavar="N",
        help="number of bins; prints the reliability table of each system, too (default: 15 bins, no such table)",
    )
    parser.add_argument(
        "--equal-width", action="store_true", help="bins of equal parts of the confidences, not of equally many rows"
    )
    parser.add_argument(
        "--temperature",
        action="store_true",
        help="fit a temperature to each half of dev, and show what it changes on the other half",
    )
    parser.add_argument(
        "--differences", action="store_true", help="test all pairs of systems on the same rows for differences"
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="write the reliability plots of all systems as .svg or .html"
    )
    command_line.options.add_workspace(parser)
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the calibration of a kept study or of runs."""
    _check_plot(arguments.plot)
    from benchrunner.results import Runner
    from benchrunner_calibration.binning import BINS, EQUAL_MASS, EQUAL_WIDTH, Binning
    from benchrunner_calibration.calibration import calibration_of

    options, output = command_line.options, command_line.output
    binning = Binning(
        BINS if arguments.bins is None else arguments.bins, EQUAL_WIDTH if arguments.equal_width else EQUAL_MASS
    )
    runner = Runner(arguments.plugins, options.workspace(arguments))
    result = options.kept_result(arguments, runner)
    calibration = calibration_of(
        result,
        runner,
        binning=binning,
        with_temperature=arguments.temperature,
        with_differences=arguments.differences,
    )
    if arguments.plot is not None:
        from benchrunner_calibration.plots import write_plots

        write_plots(calibration, arguments.plot)
    if arguments.json:
        output.print_json(calibration)
    else:
        _print(calibration, with_bins=arguments.bins is not None)
        if arguments.plot is not None:
            print_line(f"Wrote {arguments.plot}.")
    return output.DONE


def _check_plot(path: Path | None) -> None:
    """Raise a `RequestError` if no plot can be written to a path."""
    if path is None:
        return
    if path.suffix.lower() not in SUFFIXES:
        raise RequestError(f"--plot {path}: plots are files of SVG or HTML; name a file that ends in .svg or .html.")
    output_places.check_place(path, is_file=True)


def _print(calibration: Calibration, *, with_bins: bool) -> None:
    """Print the tables of every split, then what has no calibration and why."""
    from benchrunner_calibration import tables

    show = command_line.output.print_table
    for task, split in calibration.splits:
        systems = calibration.on(task, split)
        print_line(f"{task}, {split}: {systems[0].rows:,} rows")
        for table in tables.figure_tables(systems):
            show(table, (), plain_width=tables.WIDTH)
        if with_bins:
            for system in systems:
                show(tables.reliability_table(system), (), title=system.system, plain_width=tables.WIDTH)
        if any(system.temperature is not None for system in systems):
            for table in tables.temperature_tables(systems):
                show(table, (), plain_width=tables.WIDTH)
        if differences := calibration.differences_on(task, split):
            show(tables.difference_table(differences), (), plain_width=tables.WIDTH)
        for note in tables.footnotes(calibration, systems):
            print_line(f"  {note}")
    for part in calibration.left_out:
        print_line(f"left out: {part}")
