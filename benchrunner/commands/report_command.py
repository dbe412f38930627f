"""Command `report`: write a study as one file of HTML."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchrunner.command_line import options
from benchrunner.command_line.output import DONE, print_json, reserved_for_json
from benchrunner.console.printing import print_line
from benchrunner.errors import RequestError


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `report`."""
    parser.add_argument(
        "study",
        nargs="+",
        metavar="STUDY",
        help="name of a kept study, or ids of finished runs, see 'benchrunner runs'",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="the file to write (default: STUDY.html, for runs parser.html)"
    )
    parser.add_argument("--title", default="", metavar="TEXT", help="title of the page")
    options.add_published(parser)
    options.add_workspace(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the report and print its path."""
    from benchrunner.commands.share_command import study_or_runs
    from benchrunner.reports.rendering import write_report
    from benchrunner.runs.runner import Runner

    runner = Runner(arguments.plugins, options.workspace(arguments))
    options.published(arguments)  # refuses an unknown system before the study is read
    with reserved_for_json(arguments.json):
        result = study_or_runs(arguments.study, runner)
        path: Path = arguments.out or Path(f"{result.name or 'report'}.html")
        if path.suffix.lower() not in (".html", ".htm"):
            raise RequestError(f"--out {path}: a report is a file of HTML; name a file that ends in .html.")
        published = options.published(arguments, result.study.backbones)
        write_report(result, path, runner, published=published, title=arguments.title)
    if arguments.json:
        print_json({"path": str(path), "bytes": path.stat().st_size})
    else:
        print_line(f"Wrote {path} ({path.stat().st_size / 1e6:.1f} MB). It opens in any browser, without a network.")
    return DONE
