"""Command `report`: write a study as one file of HTML."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchrunner import RequestError, print_line, print_note
from benchrunner.results import command_line


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `report`."""
    command_line.options.add_kept_result(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="the file to write (default: STUDY.html, for runs report.html)"
    )
    parser.add_argument("--title", default="", metavar="TEXT", help="title of the page")
    command_line.options.add_published(parser)
    command_line.options.add_workspace(parser)
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the report and print its path."""
    from benchrunner.results import Runner
    from benchrunner_report.gathering import gather
    from benchrunner_report.rendering import write_page

    options, output = command_line.options, command_line.output
    runner = Runner(arguments.plugins, options.workspace(arguments))
    options.published(arguments)  # refuses an unknown system before the study is read
    result = options.kept_result(arguments, runner)
    path: Path = arguments.out or Path(f"{result.name or 'report'}.html")
    if path.suffix.lower() not in (".html", ".htm"):
        raise RequestError(f"--out {path}: a report is a file of HTML; name a file that ends in .html.")
    published = options.published(arguments, result.study.backbones)
    report = gather(result, runner, published=published, title=arguments.title)
    write_page(report, path)
    if report.absent:
        print_note(f"benchrunner: {report.absent}")
    if arguments.json:
        output.print_json({"path": str(path), "bytes": path.stat().st_size})
    else:
        print_line(f"Wrote {path}. It opens in any browser, without a network.")
    return output.DONE
