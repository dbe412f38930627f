"""Command `calibration`: show whether systems are right as often as their probabilities of labels say."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import RequestError, print_line
from benchrunner.results import command_line, output_places

if TYPE_CHECKING:
    from benchrunner_calibration.reliability import Bin


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
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write reliability pictures of all systems as .html")
    command_line.options.add_workspace(parser)
    command_line.study_commands.add_notes_and_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the calibration of a kept study or of runs."""
    _check_plot(arguments.plot)
    from benchrunner.results import Runner, comparison
    from benchrunner_calibration.binning import BINS, EQUAL_MASS, EQUAL_WIDTH, Binning
    from benchrunner_calibration.calibration import calibration_of

    options, output = command_line.options, command_line.output
    count = BINS if arguments.bins is None else arguments.bins
    binning = Binning(count, EQUAL_WIDTH if arguments.equal_width else EQUAL_MASS)
    runner = Runner(arguments.plugins, options.workspace(arguments))
    result = options.kept_result(arguments, runner)
    calibration = calibration_of(result, runner, binning=binning, with_temperature=arguments.temperature)
    if arguments.plot is not None:
        from benchrunner_calibration.pictures import write_pictures

        write_pictures(calibration, arguments.plot)
    if arguments.format == "json":
        output.print_json(vars(calibration) | {"result": comparison.as_json(calibration.result)})
        return output.DONE
    shown = comparison.Shown(every_metric=True)
    output.print_result(calibration.result, comparison.NOTHING_PUBLISHED, shown=shown, notes_by=arguments.notes)
    for part in calibration.reliability if arguments.bins is not None else ():
        print_line(f"{part.system} on {part.task}, {part.rows:,} rows: accuracy [95 %] by confidence")
        output.print_columns(_lines(part.bins))
    for left_out in calibration.left_out:
        print_line(f"left out: {left_out}")
    if arguments.plot is not None:
        print_line(f"Wrote {arguments.plot}.")
    return output.DONE


def _check_plot(path: Path | None) -> None:
    """Raise a `RequestError` if no pictures can be written to a path."""
    if path is None:
        return
    if path.suffix.lower() != ".html":
        raise RequestError(f"--plot {path}: pictures are a page of HTML; name a file that ends in .html.")
    output_places.check_place(path, is_file=True)


def _lines(bins: Iterable[Bin]) -> Iterator[tuple[str, str]]:
    """Yield the confidences of each bin, and how many of its answers are right."""
    for part in bins:
        low, high = 100 * part.interval.low, 100 * part.interval.high
        right = f"{100 * part.accuracy:.1f} [{low:.1f}, {high:.1f}]"
        confidences = f"{100 * part.low:.1f} to {100 * part.high:.1f}"
        yield confidences, f"{right}, {part.answers:,} answers, mean confidence {100 * part.confidence:.1f}"
